package approval

import "time"

// BatchWithin is how close together questions of one conversation are asked to be
// shown and answered together.
const BatchWithin = 5 * time.Second

// Batches puts approvals together that one conversation asked within
// [BatchWithin] of the first. They are taken in order, the oldest first.
func Batches(all []*Approval) [][]*Approval {
	var out [][]*Approval
	latest := map[string]int{} // by conversation, where its last batch is
	for _, a := range all {
		key := a.Requester.ID() + "\x00" + a.Conversation
		if i, ok := latest[key]; ok && a.Asked.Sub(out[i][0].Asked) <= BatchWithin {
			out[i] = append(out[i], a)
			continue
		}
		latest[key] = len(out)
		out = append(out, []*Approval{a})
	}
	return out
}
