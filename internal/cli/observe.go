package cli

import (
	"time"
)

// loudly is how long before its end observing is announced again.
const loudly = 7 * 24 * time.Hour

// announceObserve says that policies block nothing, a week before its end that
// they soon will, and at its end that they do. What was to be said of the
// configuration before is not.
func (d *daemon) announceObserve(end time.Time) {
	for _, t := range d.notices {
		t.Stop()
	}
	d.notices = nil
	if end.IsZero() {
		return
	}
	left := time.Until(end)
	if left <= 0 {
		d.log.Info("observing is over: policies are enforced", "since", end)
		return
	}
	observed := func() {
		d.log.Warn("policies are only observed: they block nothing; 'annotary report' says what they would have blocked", "until", end)
	}
	observed()
	if left > loudly {
		d.notices = append(d.notices, time.AfterFunc(left-loudly, observed))
	}
	d.notices = append(d.notices, time.AfterFunc(left, func() {
		d.log.Warn("observing is over: from now on policies are enforced")
	}))
}
