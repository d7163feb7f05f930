// When would alerts hold? Prometheus' own engine over numbers that are given, one a minute.
package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

type question struct {
	Series []struct {
		Labels map[string]string `json:"labels"`
		Values []float64         `json:"values"`
	} `json:"series"`
	Minutes int    `json:"minutes"`
	Expr    string `json:"expr"`
}

// One series of the answer, and the minutes in which it is there.
type holding struct {
	Labels  map[string]string `json:"labels"`
	Minutes []int64           `json:"minutes"`
}

func answer(promqlParser parser.Parser, in io.Reader, out io.Writer) error {
	var asked question
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	gathered := make([]storage.Series, 0, len(asked.Series))
	for _, series := range asked.Series {
		samples := make([]chunks.Sample, 0, len(series.Values))
		for minute, value := range series.Values {
			samples = append(samples, sample{int64(minute) * 60_000, value})
		}
		gathered = append(gathered, storage.NewListSeries(labels.FromMap(series.Labels), samples))
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: promqlParser})
	last := time.Unix(int64(asked.Minutes)*60, 0)
	query, err := engine.NewRangeQuery(context.Background(), &storage.MockQueryable{MockQuerier: &querier{gathered: gathered}}, nil, asked.Expr, time.Unix(0, 0), last, time.Minute)
	if err != nil {
		return err
	}
	defer query.Close()
	matrix, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		return err
	}
	held := make([]holding, 0, len(matrix))
	for _, series := range matrix {
		minutes := make([]int64, 0, len(series.Floats))
		for _, point := range series.Floats {
			minutes = append(minutes, point.T/60_000)
		}
		held = append(held, holding{series.Metric.Map(), minutes})
	}
	return json.NewEncoder(out).Encode(held)
}

type querier struct {
	storage.MockQuerier
	gathered []storage.Series
}

func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{at: -1}
	for _, series := range q.gathered {
		if matches(series.Labels(), matchers) {
			found.series = append(found.series, series)
		}
	}
	return found
}

func matches(of labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(of.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.f }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }
