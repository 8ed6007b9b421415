package main

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// The plot: for each era, CPU per call at 32 calls at once, and the latency
// a client sees. Length carries the meaning, and each bar has its number.

const (
	plotWidth = 760
	barHeight = 18
	barsLeft  = 150
	barsWidth = 480
)

// A panel is one group of bars of one measure.
type panel struct {
	title string
	bars  []bar
}

type bar struct {
	label string
	value float64
	text  string
}

func panels(cells []cell) []panel {
	var out []panel
	for _, revision := range []string{modern, legacy} {
		cpu := panel{title: revision + ": CPU µs a call in the process in the middle, 32 calls at once"}
		p50 := panel{title: revision + ": p50 a client sees, 32 calls at once"}
		for _, c := range cells {
			if c.behind != "http" || c.revision != revision || c.concurrency != 32 {
				continue
			}
			if c.leg != "direct" {
				us := float64(c.cpu) / float64(time.Microsecond)
				cpu.bars = append(cpu.bars, bar{legNames[c.leg], us, fmt.Sprintf("%.0f µs", us)})
			}
			p50.bars = append(p50.bars, bar{legNames[c.leg], c.p50.Seconds(), millis(c.p50)})
		}
		out = append(out, cpu, p50)
	}
	return out
}

// writePlot writes the plot as SVG that reads on light and on dark.
func writePlot(path string, cells []cell) error {
	var body bytes.Buffer
	y := 10
	for _, p := range panels(cells) {
		if len(p.bars) == 0 {
			continue
		}
		y += 20
		fmt.Fprintf(&body, `<text x="10" y="%d" font-weight="bold">%s</text>`+"\n", y, p.title)
		y += 10
		longest := 0.0
		for _, b := range p.bars {
			longest = max(longest, b.value)
		}
		for _, b := range p.bars {
			w := int(b.value / longest * barsWidth)
			fmt.Fprintf(&body, `<text x="%d" y="%d" text-anchor="end">%s</text>`, barsLeft-8, y+13, b.label)
			fmt.Fprintf(&body, `<rect x="%d" y="%d" width="%d" height="%d" fill="#4a7ab5"/>`, barsLeft, y, w, barHeight-4)
			fmt.Fprintf(&body, `<text x="%d" y="%d">%s</text>`+"\n", barsLeft+w+6, y+13, b.text)
			y += barHeight
		}
		y += 10
	}
	out := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<style>text { fill: #222 } @media (prefers-color-scheme: dark) { text { fill: #ddd } }</style>
%s</svg>
`, plotWidth, y, plotWidth, y, body.String())
	return os.WriteFile(path, []byte(out), 0o644)
}
