package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
)

// The parts of SARIF 2.1.0 we write.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		Automation sarifID       `json:"automationDetails"`
		Results    []sarifResult `json:"results"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   sarifText    `json:"shortDescription"`
		HelpURI string       `json:"helpUri"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		File   sarifFile   `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	}
	sarifFile struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name          string `json:"name"`
		QualifiedName string `json:"fullyQualifiedName"`
		Kind          string `json:"kind"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homepage    = "https://github.com/annotary/annotary"
	rulesPage   = homepage + "/blob/main/docs/lint.md#"
)

// WriteSARIF writes the report as SARIF 2.1.0, for code scanning. A result of a
// saved list points at the line on which the tool's definition begins.
func WriteSARIF(w io.Writer, r *Report, src Source) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "annotary lint", InformationURI: homepage}},
		Automation: sarifID{"annotary-lint/" + r.Profile.String() + "/" + src.Name},
		Results:    []sarifResult{},
	}
	place := map[string]int{}
	for i := range rules {
		level := rules[i].Severity[r.Profile]
		if level == Off {
			continue
		}
		place[rules[i].ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			rules[i].ID, sarifText{rules[i].DemandOf(r.Profile)}, rulesPage + rules[i].ID, sarifDefault{level.String()},
		})
	}
	seen := map[string]int{}
	for _, f := range r.Findings {
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: place[f.Rule], Level: f.Severity.String(), Message: sarifText{f.sentence()},
			Locations: f.locations(&src), Fingerprints: map[string]string{"annotary/v1": f.fingerprint(seen)},
		})
	}
	return writeJSON(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// sentence says it all in one line.
func (f *Finding) sentence() string {
	s := f.Message
	if f.Tool != "" {
		s = f.Tool + " " + s
	}
	if f.Evidence != "" {
		s += ": " + f.Evidence
	}
	return s + ". Fix: " + f.Fix + "."
}

func (f *Finding) locations(src *Source) []sarifLocation {
	var loc sarifLocation
	if line := src.Line(f.Index); line > 0 {
		loc.Physical = &sarifPhysical{sarifFile{fileURI(src.Name)}, sarifRegion{line}}
	}
	if f.Tool != "" {
		loc.Logical = []sarifLogical{{f.Tool, src.Name + "#" + f.Tool, "function"}}
	}
	if loc.Physical == nil && loc.Logical == nil {
		return []sarifLocation{}
	}
	return []sarifLocation{loc}
}

// fileURI writes a path as SARIF wants it: relative ones stay relative.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}

// fingerprint names the finding for as long as rule, tool and place in the
// definition stay: it does not change when tools move in the list. Equal ones
// are numbered.
func (f *Finding) fingerprint(seen map[string]int) string {
	key := fmt.Sprintf("%q %q %q", f.Rule, f.Tool, f.At)
	seen[key]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, seen[key]))
	return hex.EncodeToString(sum[:16])
}

// writeJSON writes v indented, without HTML escapes.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
