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

// numBars is how many bars a chart has.
const numBars = 60

// scale is the period of a chart.
type scale struct {
	length    time.Duration
	Ago       string // where the chart begins
	per, Over string // what one bar and the whole chart show
}

// scales are the periods, shortest first. All of them end now.
var scales = []scale{
	{time.Hour, "1 hour ago", "per minute", "Last hour"},
	{24 * time.Hour, "24 hours ago", "in 24 hours", "Last 24 hours"},
	{timeline.Week, "7 days ago", "in 7 days", "Last 7 days"},
}

// chart is what was healed, as bars.
type chart struct {
	scale
	bars [numBars]int // has the newest one last
	most int          // the highest number
	sums timeline.Sums
}

// chartOf draws what timeline.Sum counts in the shortest period that has all of it. A call that was
// both repaired and saved is drawn once.
func chartOf(records []journal.Record, now time.Time) chart {
	var oldest time.Duration
	for _, r := range records {
		oldest = max(oldest, now.Sub(r.Time))
	}
	for _, s := range scales {
		if oldest < s.length {
			return s.draw(records, now)
		}
	}
	return scales[len(scales)-1].draw(records, now)
}

// draw draws the events of the period s.
func (s scale) draw(records []journal.Record, now time.Time) chart {
	c := chart{scale: s}
	drawn := map[string]bool{}
	for _, r := range records {
		ago := max(0, now.Sub(r.Time)) // a clock may have been set back
		counts := timeline.Sum([]journal.Record{r})
		if counts == (timeline.Sums{}) || ago > s.length {
			continue
		}
		c.sums = c.sums.Plus(counts)
		if drawn[r.Call] {
			continue
		}
		drawn[r.Call] = r.Call != ""
		at := &c.bars[numBars-1-min(numBars-1, int(ago/(s.length/numBars)))]
		*at++
		c.most = max(c.most, *at)
	}
	return c
}

// Any reports whether there is a bar.
func (c chart) Any() bool { return c.most > 0 }

// Title is the heading of the chart.
func (c chart) Title() string { return "Healed " + c.per }

// Sentence says what c shows, as the sentence about the week does.
func (c chart) Sentence() string { return plaintext.UpperFirst(c.sums.Worth(strings.ToLower(c.Over))) }

// SVG draws c as bars. Its label says what the bars show.
func (c chart) SVG(class string) markup.HTML {
	const width, height = 4, 24 // of a bar
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, html.EscapeString(class), width*numBars, height, html.EscapeString(c.Sentence()))
	fmt.Fprintf(&b, `<line x1="0" y1="%d" x2="%d" y2="%[1]d"/>`, height, width*numBars)
	for i, n := range c.bars {
		if n > 0 {
			tall := max(2, float64(n)/float64(c.most)*(height-1))
			fmt.Fprintf(&b, `<rect x="%d" y="%.1f" width="%d" height="%.1f"/>`, i*width, height-tall, width-1, tall)
		}
	}
	b.WriteString("</svg>")
	return markup.HTML(b.String())
}
