package derive

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A model is a logistic regression: the weight of each feature for "this tool
// is read-only".
type model map[feature]float64

// weightsText holds the learned weights, one "slot word weight" a line. Only
// words without a topic are in it; TestWeights says how it was made.
//
//go:embed weights.txt
var weightsText string

var shipped = mustModel(weightsText)

func mustModel(text string) model {
	m, err := parseModel(text)
	if err != nil {
		panic(err)
	}
	return m
}

func parseModel(text string) (model, error) {
	slots := map[string]slot{}
	for s, name := range slotNames {
		slots[name] = slot(s)
	}
	m := model{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("weights: %q is not slot, word, weight", line)
		}
		s, ok := slots[fields[0]]
		w, err := strconv.ParseFloat(fields[2], 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("weights: %q: %w", line, err)
		}
		m[feature{s, fields[1]}] = w
	}
	return m, nil
}

// A score is what a model makes of a tool.
type score struct {
	p   float64 // probability that the tool is read-only
	own float64 // the same, from all but the description
	con feature // what spoke loudest against it
}

func (m model) score(fs []feature) score {
	var all, own, least float64
	var sc score
	for _, f := range fs {
		w := m[f]
		all += w
		if !f.slot.prose() {
			own += w
		}
		if f.slot != slotBias && w < least {
			least, sc.con = w, f
		}
	}
	sc.p, sc.own = sigmoid(all), sigmoid(own)
	return sc
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
