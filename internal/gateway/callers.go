package gateway

import (
	"strconv"
	"sync"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/policy"
)

// callers keep what of a call depends on nothing but who calls and, of a tool,
// which: the same few people call the same few tools. A judge does not change,
// so nothing of it grows old; what is kept is bounded.
type callers struct {
	mu       sync.RWMutex
	subjects map[string]*policy.Subject
	sights   map[sight]annotary.Decision
}

type sight struct {
	who *policy.Subject
	of  *policy.Target
}

const (
	maxSubjects = 1024
	maxSights   = 8192
)

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
	at := sight{who, of}
	c.mu.RLock()
	d, ok := c.sights[at]
	c.mu.RUnlock()
	if ok {
		return d
	}
	d = set.See(who, of)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sights) >= maxSights || c.sights == nil {
		c.sights = map[sight]annotary.Decision{}
	}
	c.sights[at] = d
	return d
}
