package gateway

// Sharing returns how many calls share answers.
func (g *Gateway) Sharing() int {
	g.shares.mu.Lock()
	defer g.shares.mu.Unlock()
	n := 0
	for _, sh := range g.shares.by {
		n += 1 + sh.joined
	}
	return n
}

// Flying returns how many calls are under way.
func (k *Kills) Flying() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.flights)
}
