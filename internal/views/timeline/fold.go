package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// maxEarlier is how many of the items that an item of Fold stands for can be looked at.
const maxEarlier = 20

// Fold joins items that follow each other and repeat what was said about a server to a client. The
// last of them stays, counts the others, and has the newest of those.
func Fold(items []Item) (folded []Item) {
	type line struct{ server, client string }
	type kept struct {
		at   int
		gist string
	}
	newer := map[line]kept{}
	for _, it := range slices.Backward(items) {
		on, gist := line{it.Server, it.Client}, it.Gist()
		if next, found := newer[on]; found && next.gist == gist {
			kept := &folded[next.at]
			if kept.Times++; len(kept.Earlier) < maxEarlier {
				kept.Earlier = append(kept.Earlier, it)
			}
			continue
		}
		newer[on] = kept{len(folded), gist}
		it.Times = 1
		folded = append(folded, it)
	}
	slices.Reverse(folded)
	return folded
}

var numbers = regex.New(`\d+(\.\d+)?( (ms|s|min|h|d)\b)?`)

// Gist is the same for items that repeat each other: they differ at most in numbers of what gauze did.
func (it Item) Gist() string {
	return strings.Join([]string{it.Server, it.Client, it.Tool, it.Problem, numbers.ReplaceAllString(it.Action, "0"), fmt.Sprint(it.Healed)}, "\n")
}

// Repeated says how often an item of Fold happened, such as "181 times, last 3 s ago"; empty: once.
func (it Item) Repeated(now time.Time) string {
	if it.Times < 2 {
		return ""
	}
	return Times(it.Times, now.Sub(it.Time))
}

// Times says how often something happened, and how long ago it last did.
func Times(n int, ago time.Duration) string {
	return fmt.Sprintf("%d times, last %s ago", n, Age(ago))
}

// Age is Duration in whole seconds or more.
func Age(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d s", max(0, d)/time.Second)
	}
	return Duration(d)
}
