package cli

import (
	"io"
	"log/slog"

	"github.com/annotary/annotary/internal/detect"
)

// newLog makes the log that a person reads. It quotes what servers and callers
// said, so secrets are hidden from it in this one place.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: hideSecrets}))
}

func hideSecrets(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(detect.Text(v))
	case error:
		a.Value = slog.StringValue(detect.Text(v.Error()))
	}
	return a
}
