package annotary_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
)

func TestZeroValuesRefuse(t *testing.T) {
	var (
		e annotary.Effect
		l annotary.Label
		c annotary.Class
		h annotary.Hints
	)
	if e != annotary.Deny {
		t.Errorf("zero Effect is %v", e)
	}
	if !l.Both() || l.Join(annotary.CleanLabel()).Sensitivity != annotary.SensitivityUnknown {
		t.Errorf("zero Label is not the worst: %+v", l)
	}
	if c != annotary.Destroy || h.Class() != annotary.Destroy || !h.Open() {
		t.Errorf("zero Hints are class %v, open %v", h.Class(), h.Open())
	}
	if annotary.CleanLabel().Both() {
		t.Error("the clean label has seen both legs")
	}
}

func TestLabelJoinGrows(t *testing.T) {
	a := annotary.Label{Public: true, Trusted: false, Sensitivity: annotary.SensitivityNone, Attribution: []string{"web"}}
	b := annotary.Label{Public: false, Trusted: true, Sensitivity: annotary.SensitivityPII, Attribution: []string{"mail", "web"}}
	want := annotary.Label{Sensitivity: annotary.SensitivityPII, Attribution: []string{"mail", "web"}}
	if diff := cmp.Diff(want, a.Join(b)); diff != "" {
		t.Errorf("Join (-want +got):\n%s", diff)
	}
}

func TestParseToolFiveStates(t *testing.T) {
	for _, tt := range []struct {
		annotations string
		want        annotary.Stated
	}{
		{`{}`, annotary.StatedAbsent},
		{`{"readOnlyHint":null}`, annotary.StatedNull},
		{`{"readOnlyHint":false}`, annotary.StatedFalse},
		{`{"readOnlyHint":true}`, annotary.StatedTrue},
		{`{"readOnlyHint":"true"}`, annotary.StatedWrongType},
		{`{"readOnlyHint":1}`, annotary.StatedWrongType},
		{`[]`, annotary.StatedAbsent},
	} {
		tool, err := annotary.ParseTool([]byte(`{"name":"t","annotations":` + tt.annotations + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.Stated[annotary.ReadOnly]; got != tt.want {
			t.Errorf("annotations %s: %v, want %v", tt.annotations, got, tt.want)
		}
	}
}

func TestParseTool(t *testing.T) {
	tool, err := annotary.ParseTool([]byte(`{"name":"save","annotations":{"title":"Save it","destructiveHint":false},
		"_meta":{"ui":{"visibility":["app"]},"dev.annotary/hints":{"egress":true,"sensitive":"x"}},"inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if tool.Title != "Save it" || tool.ModelVisible() || string(tool.Input) != `{"type":"object"}` {
		t.Errorf("read %+v", tool)
	}
	want := []annotary.Claim{
		{Hint: annotary.Destructive, Value: annotary.No, By: annotary.FromDeclared, Why: "the server says so"},
		{Hint: annotary.Egress, Value: annotary.Yes, By: annotary.FromDeclared, Why: "the server says so"},
	}
	if diff := cmp.Diff(want, tool.Declared()); diff != "" {
		t.Errorf("Declared (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`[]`, `{}`, `{"name":""}`, `{"name":1}`, `{"name":"a","name":"b"}`, `{`} {
		if _, err := annotary.ParseTool([]byte(bad)); annotary.CodeOf(err) != annotary.CodeInvalid {
			t.Errorf("ParseTool(%s): %v", bad, err)
		}
	}
}

func TestDecisionStricter(t *testing.T) {
	r1, r2 := annotary.Reason{Code: "a"}, annotary.Reason{Code: "b"}
	allow := annotary.Decision{Effect: annotary.Allow}
	ask1 := annotary.Decision{Effect: annotary.Ask, Reasons: []annotary.Reason{r1}}
	ask2 := annotary.Decision{Effect: annotary.Ask, Reasons: []annotary.Reason{r1, r2}}
	if got := allow.Stricter(ask1); got.Effect != annotary.Ask {
		t.Errorf("allow or ask = %v", got.Effect)
	}
	if got := ask1.Stricter(ask2); len(got.Reasons) != 2 || len(ask1.Reasons) != 1 {
		t.Errorf("reasons = %v", got.Reasons)
	}
	if got := (annotary.Decision{}).Stricter(allow); got.Effect != annotary.Deny {
		t.Errorf("zero or allow = %v", got.Effect)
	}
}

func TestErrorShowsOnlyItsSentence(t *testing.T) {
	cause := errors.New("dial 10.0.0.1: secret")
	err := annotary.E(annotary.CodeConnect, "the server could not be reached", cause)
	if err.Error() != "the server could not be reached" || !errors.Is(err, cause) {
		t.Errorf("error = %v", err)
	}
	if annotary.CodeOf(cause) != annotary.CodeInternal || annotary.CodeOf(nil) != "" {
		t.Error("foreign errors are not internal")
	}
}

func TestValueJSON(t *testing.T) {
	for v, want := range map[annotary.Value]string{annotary.Unknown: "null", annotary.Yes: "true", annotary.No: "false"} {
		got, err := json.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%v marshals to %s, %v", v, got, err)
		}
		var back annotary.Value
		if err := json.Unmarshal(got, &back); err != nil || back != v {
			t.Errorf("%s unmarshals to %v, %v", got, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`"true"`), new(annotary.Value)); err == nil {
		t.Error("a string passed for a hint")
	}
}
