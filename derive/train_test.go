package derive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// How the weights are learned. Chosen by cross-validation over servers, and
// from the coarse end: halving or doubling any of them moves no figure of
// docs/derivation.md by more than a point.
const (
	trainL2         = 0.7 // pull of every weight towards zero
	trainMinServers = 3   // a word counts if as many servers use it
	trainPasses     = 25
	trainPower      = 0.5 // a server of n tools weighs n to this power
)

// An example is one labelled tool.
type example struct {
	server   string
	features []feature
	yes      bool
	weight   float64
}

// weighServers keeps ten large servers from outvoting the rest.
func weighServers(examples []example) {
	count := map[string]int{}
	for _, e := range examples {
		count[e.server]++
	}
	for i, e := range examples {
		examples[i].weight = math.Pow(float64(count[e.server]), trainPower-1)
	}
}

// train fits a logistic regression by coordinate descent, one Newton step a
// feature and pass. It is deterministic: features are visited in one order.
func train(examples []example) model {
	at, order := index(examples)
	w := make([]float64, len(order))
	margin := make([]float64, len(examples))
	for range trainPasses {
		for j, f := range order {
			d := step(examples, margin, at[f], f, w[j])
			w[j] += d
			for _, i := range at[f] {
				margin[i] += d
			}
		}
	}
	m := model{}
	for j, f := range order {
		if rounded := math.Round(w[j]*1000) / 1000; rounded != 0 {
			m[f] = rounded
		}
	}
	return m
}

// index finds where each feature occurs, and puts those worth learning in order.
func index(examples []example) (map[feature][]int, []feature) {
	at, servers := map[feature][]int{}, map[feature]map[string]bool{}
	for i, e := range examples {
		for _, f := range e.features {
			if servers[f] == nil {
				servers[f] = map[string]bool{}
			}
			servers[f][e.server] = true
			at[f] = append(at[f], i)
		}
	}
	var order []feature
	for f, s := range servers {
		if len(s) >= trainMinServers {
			order = append(order, f)
		}
	}
	slices.SortFunc(order, compareFeatures)
	return at, order
}

func compareFeatures(a, b feature) int {
	return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.word, b.word))
}

// step returns by how much the weight of a feature should move.
func step(examples []example, margin []float64, at []int, f feature, w float64) float64 {
	l2 := trainL2
	if f.slot == slotBias {
		l2 = 1e-4
	}
	gradient, curvature := l2*w, l2+1e-3
	for _, i := range at {
		p := sigmoid(margin[i])
		y := 0.0
		if examples[i].yes {
			y = 1
		}
		gradient += examples[i].weight * (p - y)
		curvature += examples[i].weight * p * (1 - p)
	}
	return math.Max(-1, math.Min(1, -gradient/curvature))
}

// text writes a model the way parseModel reads it.
func (m model) text() string {
	var b strings.Builder
	fs := make([]feature, 0, len(m))
	for f := range m {
		fs = append(fs, f)
	}
	slices.SortFunc(fs, compareFeatures)
	for _, f := range fs {
		fmt.Fprintf(&b, "%s\t%s\t%.3f\n", slotNames[f.slot], f.word, m[f])
	}
	return b.String()
}
