package dashboard

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/timeline"
)

// chartMinutes is the period of a chart.
const chartMinutes = 60

// chart counts what was healed in each minute of the last hour.
type chart struct {
	Minutes [chartMinutes]int // Minutes has the newest minute last.
	Total   int
	Most    int // Most is the highest number in a minute.
}

// healedPerMinute counts the items that were healed: crashes, and each call that was saved.
func healedPerMinute(items []timeline.Item, now time.Time) (c chart) {
	for _, it := range items {
		ago := int(now.Sub(it.Time) / time.Minute)
		if !it.Healed || ago < 0 || ago >= chartMinutes {
			continue
		}
		at := &c.Minutes[chartMinutes-1-ago]
		*at++
		c.Total++
		c.Most = max(c.Most, *at)
	}
	return c
}

// SVG draws c as bars. Its label says what the bars show.
func (c chart) SVG(class string) template.HTML {
	const width, height = 4, 24 // of a bar
	var b strings.Builder
	label := fmt.Sprintf("crashes and calls healed: %d in the last hour, at most %d in a minute", c.Total, c.Most)
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, template.HTMLEscapeString(class), width*chartMinutes, height, label)
	fmt.Fprintf(&b, `<line x1="0" y1="%d" x2="%d" y2="%[1]d"/>`, height, width*chartMinutes)
	for i, n := range c.Minutes {
		if n > 0 {
			tall := max(2, float64(n)/float64(c.Most)*(height-1))
			fmt.Fprintf(&b, `<rect x="%d" y="%.1f" width="%d" height="%.1f"/>`, i*width, height-tall, width-1, tall)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
