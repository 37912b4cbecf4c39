package dashboard

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/views/markup"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// chartMinutes is the period of a chart.
const chartMinutes = 60

// chart is what was healed in each minute of the last hour.
type chart struct {
	minutes [chartMinutes]int // has the newest one last
	most    int               // the highest number in a minute
	sums    timeline.Sums
}

// healedPerMinute draws what timeline.Sum counts. A call that was both repaired and saved is drawn
// once.
func healedPerMinute(records []journal.Record, now time.Time) (c chart) {
	drawn := map[string]bool{}
	for _, r := range records {
		ago := int(now.Sub(r.Time) / time.Minute)
		counts := timeline.Sum([]journal.Record{r})
		if counts == (timeline.Sums{}) || ago < 0 || ago >= chartMinutes {
			continue
		}
		c.sums = c.sums.Plus(counts)
		if drawn[r.Call] {
			continue
		}
		drawn[r.Call] = r.Call != ""
		at := &c.minutes[chartMinutes-1-ago]
		*at++
		c.most = max(c.most, *at)
	}
	return c
}

// Sentence says what c shows, as the sums of the week do.
func (c chart) Sentence() string { return plaintext.UpperFirst(c.sums.Sentence("last hour")) }

// SVG draws c as bars. Its label says what the bars show.
func (c chart) SVG(class string) markup.HTML {
	const width, height = 4, 24 // of a bar
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, html.EscapeString(class), width*chartMinutes, height, html.EscapeString(c.Sentence()))
	fmt.Fprintf(&b, `<line x1="0" y1="%d" x2="%d" y2="%[1]d"/>`, height, width*chartMinutes)
	for i, n := range c.minutes {
		if n > 0 {
			tall := max(2, float64(n)/float64(c.most)*(height-1))
			fmt.Fprintf(&b, `<rect x="%d" y="%.1f" width="%d" height="%.1f"/>`, i*width, height-tall, width-1, tall)
		}
	}
	b.WriteString("</svg>")
	return markup.HTML(b.String())
}
