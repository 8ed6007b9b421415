package memory_test

import (
	"testing"

	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/storetest"
)

func TestBucket(t *testing.T) {
	storetest.RunBucket(t, func(*testing.T) storetest.Bucket { return memory.NewBucket() })
}

func TestDesk(t *testing.T) {
	storetest.RunDesk(t, func(*testing.T) storetest.Bucket { return memory.NewBucket() })
}

func TestLog(t *testing.T) {
	storetest.RunLog(t, func(*testing.T) storetest.Log { return &memory.Log{} })
}

func TestRecords(t *testing.T) {
	storetest.RunRecords(t, func(*testing.T) storetest.Bucket { return memory.NewBucket() })
}
