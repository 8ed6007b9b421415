package derive

import "testing"

func writeReport(t *testing.T, samples []sample, crossed []Claims, cv, fit figures) {}
