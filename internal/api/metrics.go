package api

import (
	"fmt"
	"net/http"
	"strings"
)

// metrics says how the log is doing, and how much asking costs, in the text format of Prometheus.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	var out strings.Builder
	gauge := func(name, help string, samples ...string) {
		fmt.Fprintf(&out, "# HELP annotary_%[1]s %[2]s\n# TYPE annotary_%[1]s gauge\n", name, help)
		for _, sample := range samples {
			fmt.Fprintf(&out, "annotary_%s%s\n", name, sample)
		}
	}
	if s.Audit != nil {
		if a := s.Audit(); a != nil {
			gauge("audit_sealed_entries", "Entries of the log that the newest checkpoint covers.", fmt.Sprintf(" %d", a.Sealed))
			alarm := 0
			if a.Alarm != "" {
				alarm = 1
			}
			gauge("audit_alarm", "1 if sealing has stopped for good.", fmt.Sprintf(" %d", alarm))
			gauge("audit_spooled_entries", "Entries that wait on the local disk for the store.", fmt.Sprintf(" %d", a.Spooled))
			var behind []string
			for _, e := range a.Exports {
				behind = append(behind, fmt.Sprintf("{export=%q} %d", e.Name, e.Behind))
			}
			gauge("audit_export_backlog_packs", "Packs of the log that an export does not have yet.", behind...)
		}
	}
	if err := s.asking(r.Context(), gauge); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, err := w.Write([]byte(out.String()))
	return err
}
