package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/annotary/annotary/audit"
)

func TestOCSF(t *testing.T) {
	e := sample(1)
	e.Effect = "deny"
	e.Result, e.Code = audit.Refused, "no_permit"
	line, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := audit.OCSF(line)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"class_uid": 6003.0, "category_uid": 6.0, "type_uid": 600303.0, "activity_id": 3.0, "severity_id": 2.0,
		"status_id": 2.0, "status_code": "no_permit", "action_id": 2.0, "disposition_id": 2.0, "time": 1763208001123.0,
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	whole := got["unmapped"].(map[string]any)["annotary"].(map[string]any)
	if whole["call"] != "c1" || whole["effective"] == nil {
		t.Errorf("the entry is not whole under unmapped: %v", whole)
	}
	if _, err := audit.OCSF([]byte(`{"v":9}`)); err == nil {
		t.Error("an entry of another version was translated")
	}
}

// TestOCSF_unique: no two entries of a call are one event.
func TestOCSF_unique(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range []audit.Entry{{Kind: audit.Decided}, {Kind: audit.Attempt, Attempt: 2}, {Kind: audit.Attempt, Attempt: 3}, {Kind: audit.Outcome, Attempt: 3}} {
		e.Call = "c"
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		out, err := audit.OCSF(line)
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Metadata struct{ UID string } }
		if err := json.Unmarshal(out, &event); err != nil {
			t.Fatal(err)
		}
		if uid := event.Metadata.UID; uid == "" || seen[uid] {
			t.Errorf("%s %d is event %q again", e.Kind, e.Attempt, uid)
		}
		seen[event.Metadata.UID] = true
	}
}
