package approval

// Bells is how many approvals are waited for.
func (d *Desk) Bells() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.bells)
}
