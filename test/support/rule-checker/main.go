// What does Prometheus say of these rules and queries? Its own code, as `promtool check rules` calls it; of a file of rules, and of queries
// one a line. With `-answer`, what one query says of numbers that are given.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	promql := parser.NewParser(parser.Options{})
	if len(os.Args) > 1 && os.Args[1] == "-answer" {
		if err := answer(promql, os.Stdin, os.Stdout); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	failed := false
	fail := func(err error) {
		fmt.Println(err)
		failed = true
	}
	if len(os.Args) > 1 {
		groups, errs := rulefmt.ParseFile(os.Args[1], false, model.LegacyValidation, promql, slog.New(slog.NewTextHandler(io.Discard, nil)))
		for _, err := range errs {
			fail(err)
		}
		if groups != nil {
			rules := 0
			for _, group := range groups.Groups {
				rules += len(group.Rules)
			}
			fmt.Printf("%d rules\n", rules)
		}
	} else {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			if _, err := promql.ParseExpr(lines.Text()); err != nil {
				fail(fmt.Errorf("%s: %w", lines.Text(), err))
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}
