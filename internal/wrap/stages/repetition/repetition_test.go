package repetition

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/correct"
)

func TestACallThatTookLongIsNotRepeated(t *testing.T) {
	if correct.FitsTwice(time.Second, 2*time.Second) { // without the pause
		t.Error("two attempts of a second fit into two seconds")
	}
	for took, fits := range map[time.Duration]bool{time.Second: true, 29 * time.Second: true, 31 * time.Second: false} {
		if correct.FitsTwice(took, 0) != fits {
			t.Errorf("after %v: %v", took, !fits)
		}
	}
}
