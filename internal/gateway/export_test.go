package gateway

// Sharing returns how many calls wait for shared answers.
func (g *Gateway) Sharing() int {
	g.shares.mu.Lock()
	defer g.shares.mu.Unlock()
	n := 0
	for _, sh := range g.shares.by {
		n += sh.waiting
	}
	return n
}
