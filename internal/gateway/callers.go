package gateway

import (
	"strconv"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// callers keep what of a call depends on nothing but who calls and, of a tool,
// which, and little else: the same few people call the same few tools. A judge
// does not change, so nothing of it grows old; what is kept is bounded.
type callers struct {
	mu       sync.RWMutex
	subjects map[string]*policy.Subject
	sights   memo[sight]
	verdicts memo[verdict]
}

type sight struct {
	who *policy.Subject
	of  *policy.Target
}

type verdict struct {
	sight
	facts policy.Facts
}

const (
	maxSubjects  = 1024
	maxDecisions = 8192
)

// A memo keeps decisions that are asked for again and again.
type memo[K comparable] struct {
	mu sync.RWMutex
	by map[K]annotary.Decision
}

// get returns the decision on a question, made by f the first time.
func (m *memo[K]) get(key K, f func() annotary.Decision) annotary.Decision {
	m.mu.RLock()
	d, ok := m.by[key]
	m.mu.RUnlock()
	if ok {
		return d
	}
	d = f()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.by) >= maxDecisions || m.by == nil {
		m.by = map[K]annotary.Decision{}
	}
	m.by[key] = d
	return d
}

// subject returns a principal as it was prepared before.
func (c *callers) subject(who *annotary.Principal, prepare func() *policy.Subject) *policy.Subject {
	var room [128]byte
	key := appendCallerKey(room[:0], who)
	c.mu.RLock()
	s := c.subjects[string(key)]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	s = prepare()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subjects) >= maxSubjects || c.subjects == nil {
		c.subjects = map[string]*policy.Subject{}
	}
	c.subjects[string(key)] = s
	return s
}

// appendCallerKey writes everything about a principal so that no two share a
// key, whatever characters their issuers let them have.
func appendCallerKey(b []byte, who *annotary.Principal) []byte {
	for _, part := range [...][]string{{who.Tenant, who.Issuer, who.Subject, who.Client}, who.Groups, who.Profiles, who.Scopes} {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ';')
		for _, s := range part {
			b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
			b = append(b, s...)
		}
	}
	return b
}

// see asks policies once whether a caller may know of a target.
func (c *callers) see(set *policy.Set, who *policy.Subject, of *policy.Target) annotary.Decision {
	return c.sights.get(sight{who, of}, func() annotary.Decision { return set.See(who, of) })
}

// decide asks policies once about calls that they cannot tell apart: few look at
// arguments or at the clock. What is no tool is another target each time.
func (c *callers) decide(set *policy.Set, r *policy.Request) annotary.Decision {
	facts, ok := set.Facts(r)
	if !ok || r.Action != policy.Call {
		return set.Decide(r)
	}
	return c.verdicts.get(verdict{sight{r.Who, r.Target}, facts}, func() annotary.Decision { return set.Decide(r) })
}
