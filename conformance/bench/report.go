package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// behindNames say how the server is reached, for people.
var behindNames = map[string]string{"http": "server behind HTTP", "stdio": "server behind a pipe"}

// legNames are the legs, for people.
var legNames = map[string]string{
	"direct": "direct", "reverseproxy": "ReverseProxy", "annotary": "annotary, forwarding", "judged": "annotary, judging", "sdk": "Go SDK proxy",
}

// writeTable writes the results as tables in Markdown.
func writeTable(w io.Writer, r results) error {
	var out bytes.Buffer
	title := ""
	for _, c := range r.cells {
		if t := fmt.Sprintf("%s, %s", behindNames[c.behind], c.revision); t != title {
			title = t
			fmt.Fprintf(&out, "\n### %s\n\n", t)
			out.WriteString("| calls at once | | calls/s | p50 | p99 | CPU µs a call | KB allocated a call |\n|---|---|---|---|---|---|---|\n")
		}
		cpu, allocated := "", ""
		if c.leg != "direct" {
			cpu = fmt.Sprintf("%.0f", float64(c.cpu)/float64(time.Microsecond))
			allocated = fmt.Sprintf("%.1f", c.allocated/1000)
		}
		fmt.Fprintf(&out, "| %d | %s | %.0f | %s | %s | %s | %s |\n",
			c.concurrency, legNames[c.leg], c.calls, millis(c.p50), millis(c.p99), cpu, allocated)
	}
	out.WriteString(judge(r.cells) + recordTable(r.records))
	_, err := w.Write(out.Bytes())
	return err
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// judge holds annotary against the ReverseProxy, where both were measured.
func judge(cells []cell) string {
	var out strings.Builder
	for _, ours := range cells {
		theirs := find(cells, ours, "reverseproxy")
		if (ours.leg != "annotary" && ours.leg != "judged") || theirs == nil || ours.concurrency > 32 {
			continue
		}
		fmt.Fprintf(&out, "| %s | %d | %s | %.2f× | %.2f× | %.1f KB |\n", ours.revision, ours.concurrency, legNames[ours.leg],
			float64(ours.cpu)/float64(theirs.cpu), float64(ours.p50)/float64(theirs.p50), ours.allocated/1000)
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n### Beside the ReverseProxy\n\n| revision | calls at once | | CPU a call | p50 | allocated a call |\n|---|---|---|---|---|---|\n" + out.String()
}

func find(cells []cell, like cell, leg string) *cell {
	for i, c := range cells {
		if c.leg == leg && c.behind == like.behind && c.revision == like.revision && c.concurrency == like.concurrency {
			return &cells[i]
		}
	}
	return nil
}

const beginMark, endMark = "<!-- begin wire -->\n", "<!-- end wire -->\n"

// writePage puts the tables into their place in a page.
func writePage(path string, p plan, r results) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(page), beginMark)
	_, tail, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the tables", path)
	}
	var out bytes.Buffer
	out.WriteString(head + beginMark)
	fmt.Fprintf(&out, "Mean of %d interleaved rounds of %v each, GOGC=%s, %d cores (shared by client, proxy and server), %s, %s.\n\n![CPU per call and p50 of each proxy, as bars](wire.svg)\n",
		p.rounds, p.duration, p.gogc, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
	if err := writeTable(&out, r); err != nil {
		return err
	}
	out.WriteString("\n" + endMark + tail)
	return os.WriteFile(path, out.Bytes(), 0o644)
}
