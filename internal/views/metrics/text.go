package metrics

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// write writes all metrics. The order is always the same.
func (c *Collector) write(b *bytes.Buffer) {
	head(b, "gauze_build_info", gauge, "The version of gauze that serves these metrics.")
	fmt.Fprintf(b, "gauze_build_info{version=\"%s\"} 1\n", escape(label(c.version)))
	keys := slices.Collect(maps.Keys(c.sums))
	sorting.Stable(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.client, b.client))
	})
	for i := range families {
		f := &families[i]
		head(b, f.name, f.kind, f.help)
		for _, k := range keys {
			labels := fmt.Sprintf("server=\"%s\",client=\"%s\"", escape(k.server), escape(k.client))
			if f.fixed != "" {
				labels += "," + f.fixed
			}
			if f.histogram != nil {
				writeHistogram(b, f.name, labels, &c.sums[k][i].histogram)
				continue
			}
			numbers := c.sums[k][i].numbers
			for _, word := range slices.Sorted(maps.Keys(numbers)) {
				further := ""
				if f.label != "" {
					further = fmt.Sprintf(",%s=\"%s\"", f.label, escape(word))
				}
				fmt.Fprintf(b, "%s{%s%s} %s\n", f.name, labels, further, number(numbers[word]))
			}
		}
	}
}

func head(b *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func writeHistogram(b *bytes.Buffer, name, labels string, h *health.Histogram) {
	total := uint64(0)
	for i, bound := range health.Bounds {
		total += h.Counts[i]
		fmt.Fprintf(b, "%s_bucket{%s,le=\"%s\"} %d\n", name, labels, number(bound), total)
	}
	fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, h.Count())
	fmt.Fprintf(b, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, number(h.Sum), name, labels, h.Count())
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// escape escapes the value of a label.
func escape(text string) string { return escaper.Replace(text) }

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
