package audit

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The parts of OCSF 1.5 we fill: class API Activity (6003) of the category
// Application Activity. What OCSF has no place for stands under unmapped,
// whole, so nothing an auditor may want is lost in translation.
type ocsfEvent struct {
	ActivityID    int            `json:"activity_id"`
	ActivityName  string         `json:"activity_name"`
	CategoryUID   int            `json:"category_uid"`
	ClassUID      int            `json:"class_uid"`
	TypeUID       int            `json:"type_uid"`
	Time          int64          `json:"time"`
	SeverityID    int            `json:"severity_id"`
	Severity      string         `json:"severity"`
	StatusID      int            `json:"status_id"`
	StatusCode    string         `json:"status_code,omitempty"`
	ActionID      int            `json:"action_id"`
	DispositionID int            `json:"disposition_id"`
	Duration      float64        `json:"duration,omitempty"`
	Metadata      ocsfMetadata   `json:"metadata"`
	Actor         ocsfActor      `json:"actor"`
	API           ocsfAPI        `json:"api"`
	SrcEndpoint   ocsfName       `json:"src_endpoint"`
	Unmapped      map[string]any `json:"unmapped"`
}

type ocsfMetadata struct {
	Version        string      `json:"version"`
	Product        ocsfProduct `json:"product"`
	UID            string      `json:"uid"`
	CorrelationUID string      `json:"correlation_uid"`
	TenantUID      string      `json:"tenant_uid"`
}

type ocsfProduct struct {
	Name   string `json:"name"`
	Vendor string `json:"vendor_name"`
}

type ocsfActor struct {
	User    ocsfUser `json:"user"`
	AppName string   `json:"app_name,omitempty"`
}

type ocsfUser struct {
	Name   string     `json:"name"`
	Domain string     `json:"domain,omitempty"`
	Groups []ocsfName `json:"groups,omitempty"`
}

type ocsfName struct {
	Name string `json:"name"`
}

type ocsfAPI struct {
	Operation string   `json:"operation"`
	Service   ocsfName `json:"service"`
	Request   struct {
		UID string `json:"uid"`
	} `json:"request"`
}

const (
	ocsfVersion     = "1.5.0"
	ocsfAPIActivity = 6003
	ocsfApplication = 6
)

// OCSF writes an entry's line as an OCSF event.
func OCSF(line []byte) ([]byte, error) {
	e, err := Decode(line)
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	if err := json.Unmarshal(line, &whole); err != nil {
		return nil, err
	}
	activity, name := ocsfActivity(e.Class)
	out := ocsfEvent{
		ActivityID: activity, ActivityName: name,
		CategoryUID: ocsfApplication, ClassUID: ocsfAPIActivity, TypeUID: ocsfAPIActivity*100 + activity,
		Time:       e.Time.UnixMilli(),
		SeverityID: map[Severity]int{Info: 1, Low: 2, Medium: 3, High: 4}[e.Severity], Severity: string(e.Severity),
		StatusID: ocsfStatus(e), StatusCode: string(e.Code), Duration: e.Millis,
		Metadata: ocsfMetadata{
			Version: ocsfVersion, Product: ocsfProduct{"Annotary", "Annotary"},
			UID: ocsfUID(e), CorrelationUID: e.Call, TenantUID: e.Tenant,
		},
		Actor:       ocsfActor{User: ocsfUser{Name: e.Subject, Domain: e.Issuer}, AppName: e.Client},
		API:         ocsfAPI{Operation: strings.TrimSuffix(e.Method+" "+e.Tool, " "), Service: ocsfName{e.Server}},
		SrcEndpoint: ocsfName{"unknown"},
		Unmapped:    map[string]any{"annotary": whole},
	}
	if e.Client != "" {
		out.SrcEndpoint.Name = e.Client
	}
	for _, g := range e.Groups {
		out.Actor.User.Groups = append(out.Actor.User.Groups, ocsfName{g})
	}
	out.API.Request.UID = e.Call
	out.ActionID, out.DispositionID = ocsfDisposition(e)
	return json.Marshal(out)
}

// ocsfUID tells an event from all others: a call leaves one entry of each kind,
// but as many attempts as there were.
func ocsfUID(e Entry) string {
	uid := e.Call + "/" + string(e.Kind)
	if e.Kind == Attempt {
		uid = fmt.Sprintf("%s/%d", uid, e.Attempt)
	}
	return uid
}

// ocsfActivity maps a class to what OCSF calls the activity.
func ocsfActivity(class string) (int, string) {
	switch class {
	case "read":
		return 2, "Read"
	case "write":
		return 3, "Update"
	case "destructive":
		return 4, "Delete"
	default:
		return 99, "Other"
	}
}

// ocsfStatus: 1 success, 2 failure, 0 not known yet.
func ocsfStatus(e Entry) int {
	switch e.Result {
	case OK:
		return 1
	case ToolError, Failed, Refused, Cancelled:
		return 2
	default:
		return 0
	}
}

// ocsfDisposition returns action and disposition: allowed, blocked, or left to
// a person (custom action).
func ocsfDisposition(e Entry) (action, disposition int) {
	switch {
	case e.Observe || e.Effect == "allow":
		return 1, 1
	case e.Effect == "deny" || e.Result == Refused:
		return 2, 2
	case e.Effect == "ask":
		return 99, 99
	default:
		return 0, 0
	}
}
