package tool

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Call is one call of a tool, as its handler sees it. To test a handler by
// itself, give it a new Call; set Log if it logs.
type Call struct {
	// ID names the call in the log and in the failures a caller sees.
	ID string
	// Tool is the name it was called by.
	Tool string
	// User is who the verified token is for, "" if nobody is known.
	User string
	// Scopes are those of the verified token.
	Scopes []string
	// DryRun is set where the arguments ask for one; see [Rehearsal].
	DryRun bool
	// Log logs with the call's id and tool.
	Log *slog.Logger
	// Request is the SDK's request, for what is not here.
	Request *mcp.CallToolRequest

	mu                   sync.Mutex
	said                 string
	attached             []mcp.Content
	sensitive, untrusted bool
}

// Say sets the text of the result, in place of the JSON of the output.
func (c *Call) Say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = fmt.Sprintf(format, args...)
}

// Attach adds an image, a sound, a resource or a link to the result. Such
// content is never cut.
func (c *Call) Attach(content ...mcp.Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attached = append(c.attached, content...)
}

func (c *Call) attachments() []mcp.Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.attached)
}

// MarkSensitive labels this result as private data.
func (c *Call) MarkSensitive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sensitive = true
}

// MarkUntrusted labels this result as holding a stranger's words.
func (c *Call) MarkUntrusted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untrusted = true
}

// Progress tells the client how far the work is, if it asked to be told. It
// returns the context's error once the client has cancelled or the deadline
// has passed, so that a loop can report and stop in one line:
//
//	if err := call.Progress(ctx, i, len(steps), steps[i].Name); err != nil {
//		return out, err
//	}
func (c *Call) Progress(ctx context.Context, done, total int, message string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Request == nil || c.Request.Session == nil {
		return nil
	}
	token := c.Request.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	if c.DryRun {
		message = dryRunMark + message
	}
	err := c.Request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(total), Message: message,
	})
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelDebug, "progress not delivered", slog.Any("error", err))
	}
	return ctx.Err()
}

const dryRunMark = "[DRY RUN] "

// A Rehearsal embedded in a tool's arguments adds dryRun: true asks what would
// happen and changes nothing. The handler looks at [Call.DryRun]; text and
// progress are marked on their own, and a key is not spent.
type Rehearsal struct {
	DryRun bool `json:"dryRun,omitempty" jsonschema:"true to see what would happen without changing anything"`
}

func (r *Rehearsal) dryRun() bool { return r != nil && r.DryRun }

// A Page is a list result: the items, and where the next ones are. Truncation
// drops items from its end and sets [PageMeta.Truncated].
type Page[T any] struct {
	Data []T      `json:"data"`
	Meta PageMeta `json:"meta"`
}

// PageMeta says where in a list a page is.
type PageMeta struct {
	Cursor          string `json:"cursor,omitempty" jsonschema:"pass this to get the next page"`
	HasNextPage     bool   `json:"hasNextPage"`
	HasPreviousPage bool   `json:"hasPreviousPage"`
	Truncated       bool   `json:"truncated,omitempty" jsonschema:"true if items were left out for length: filter or page"`
}
