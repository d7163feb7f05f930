// Which connections of a node do NetworkPolicies allow? kube-network-policies says it of the first packet of each, for the packets that
// iptables hands to its queue. Its own rules need a kernel with nft_queue; the node's need none (../policies.ts).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of an account that may list pods, namespaces and NetworkPolicies")
	node := flag.String("node", "", "name of the node")
	queue := flag.Int("queue", 100, "number of the queue")
	flag.Parse()
	if err := run(*kubeconfig, *node, *queue); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, node string, queue int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// In JSON an empty list of rules would be one that allows all.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	controller, err := networkpolicy.NewController(
		client,
		factory.Networking().V1().NetworkPolicies(),
		core.Namespaces(),
		core.Pods(),
		nil, nil, nil, nil,
		// It asks what it would know of the container runtime even where there is nothing to know.
		networkpolicy.Config{QueueID: queue, NodeName: node, NRIdisabled: false},
	)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	return controller.Run(ctx)
}
