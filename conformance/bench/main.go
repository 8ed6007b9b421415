// Command bench measures what the gateway costs on the wire, beside what else
// could stand there: nothing (direct), net/http's ReverseProxy with a buffer
// pool and a tuned transport, and a proxy made of the Go SDK's client and
// server. The gateway stands there twice: as it forwards, and as it judges and
// records every call. All of them run in one go, as processes of their own, with the same
// settings of the garbage collector, in interleaved rounds, so that whatever
// else the machine does hits all alike.
//
// It measures calls per second, latency as a client sees it, CPU time of the
// process in the middle (from /proc) and bytes it allocates, for calls of an
// echo tool with 1 KB of text each way. `make bench-wire` writes the result
// into docs/performance.md.
//
// It is no part of the binary that ships.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// plan is what to measure.
type plan struct {
	duration    time.Duration
	rounds      int
	concurrency []int
	gogc        string
	legs        string
	docs        string
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "role" {
		return runRole(context.Background(), args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var p plan
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&p.duration, "d", 2*time.Second, "how long each measurement takes")
	flags.IntVar(&p.rounds, "rounds", 5, "how many rounds are averaged")
	flags.StringVar(&p.gogc, "gogc", "100", "GOGC of every process")
	flags.StringVar(&p.legs, "legs", "direct,reverseproxy,annotary,judged,sdk", "what to measure")
	flags.StringVar(&p.docs, "docs", "", "the folder to write performance.md and wire.svg into")
	list := flags.String("c", "1,32,256", "how many calls at once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for s := range strings.SplitSeq(*list, ",") {
		c, err := strconv.Atoi(s)
		if err != nil || c < 1 {
			return fmt.Errorf("-c %s: not a list of numbers", *list)
		}
		p.concurrency = append(p.concurrency, c)
	}
	results, err := measureAll(ctx, p)
	if err != nil {
		return err
	}
	if err := writeTable(os.Stdout, results); err != nil {
		return err
	}
	if p.docs == "" {
		return nil
	}
	return errors.Join(
		writePage(filepath.Join(p.docs, "performance.md"), p, results),
		writePlot(filepath.Join(p.docs, "wire.svg"), results.cells),
	)
}

// runRole is what the processes in the middle and at the end run.
func runRole(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("role", flag.ContinueOnError)
	var r role
	flags.StringVar(&r.addr, "addr", "", "where to listen")
	flags.StringVar(&r.counter, "counter", "", "where to tell how much was allocated")
	flags.StringVar(&r.upstream, "upstream", "", "the URL behind; empty for a command")
	flags.StringVar(&r.revision, "revision", modern, "the revision to speak")
	flags.BoolVar(&r.durable, "durable", false, "keep the log in the embedded engine")
	flags.BoolVar(&r.writes, "writes", false, "the tool writes")
	flags.DurationVar(&r.takes, "takes", 0, "how long the server takes to answer")
	if len(args) == 0 {
		return errors.New("no role")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if r.counter != "" {
		if err := serveCounter(r.counter); err != nil {
			return err
		}
	}
	switch args[0] {
	case "upstream":
		return r.serveUpstream()
	case "stdio":
		return serveLines(os.Stdin, os.Stdout)
	case "reverseproxy":
		return r.serveReverseProxy()
	case "sdk":
		return r.serveSDK(ctx)
	case "annotary":
		return r.serveAnnotary(ctx)
	case "judged":
		return r.serveJudged(ctx)
	}
	return fmt.Errorf("no role %q", args[0])
}
