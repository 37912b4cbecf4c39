package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/fault"
)

// look is the colors of a picture.
type look struct {
	file                         string
	paper, bar, edge, ink, faint string
	red, green, yellow, blue     string
}

var looks = []look{
	{file: "demo-light.svg", paper: "#ffffff", bar: "#f6f8fa", edge: "#d1d9e0", ink: "#1f2328", faint: "#59636e",
		red: "#cf222e", green: "#1a7f37", yellow: "#9a6700", blue: "#0550ae"},
	{file: "demo-dark.svg", paper: "#0d1117", bar: "#151b23", edge: "#3d444d", ink: "#f0f6fc", faint: "#9198a1",
		red: "#ff7b72", green: "#3fb950", yellow: "#d29922", blue: "#79c0ff"},
}

// The sizes of a picture, in its own units.
const (
	cellWidth = 8.43 // of most monospaced fonts at 14
	rowHeight = 21
	margin    = 20
	barHeight = 40
	width     = 2*margin + 675
)

// caption is below the scenes.
const caption = "Recorded from a real run; call is a small MCP client. Waiting times are shortened."

// How fast the story is told. Its own times are in its text.
const (
	typing    = 22 * time.Millisecond // for each character
	afterType = 350 * time.Millisecond
	eachRow   = 300 * time.Millisecond
	atEnd     = 2600 * time.Millisecond
)

// shot is a row of the picture with its times.
type shot struct {
	line
	row              int
	from, full, gone time.Duration // when it begins, is complete, and is removed
}

// timed returns the rows of all scenes with their times, the end of each scene, and the end of all.
func timed(scenes []scene) (shots [][]shot, ends []time.Duration) {
	var now time.Duration
	for _, s := range scenes {
		var rows []shot
		for i, l := range s.lines {
			one := shot{line: l, row: i, from: now, full: now}
			if l.typed {
				one.full += time.Duration(utf8.RuneCountInString(l.text())) * typing
				now = one.full + afterType
			} else {
				now += eachRow
			}
			rows = append(rows, one)
		}
		now += atEnd
		for i := range rows {
			rows[i].gone = now
		}
		shots, ends = append(shots, rows), append(ends, now)
	}
	return shots, ends
}

// picture is an SVG that is being drawn.
type picture struct {
	look
	style, body bytes.Buffer
	total       time.Duration
	count       int
}

// draw returns the scenes as an SVG that repeats them. Where motion is not wanted, it shows the first.
func draw(scenes []scene, l look) []byte {
	shots, ends := timed(scenes)
	p := &picture{look: l, total: ends[len(ends)-1]}
	rows := 0
	for _, s := range scenes {
		rows = max(rows, len(s.lines))
	}
	height := barHeight + margin + rows*rowHeight + 46
	p.frame(height)
	var began time.Duration
	for i := range scenes {
		p.tab(scenes, i, began, ends[i])
		for _, one := range shots[i] {
			p.row(one, i == 0)
		}
		began = ends[i]
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&out, "<title id=\"title\">Gauze keeps a session alive</title>\n<desc id=\"desc\">%s</desc>\n", escape(described(scenes)))
	fmt.Fprintf(&out, "<style>\n%s%s</style>\n%s</svg>\n", p.rules(), p.style.String(), p.body.String())
	return out.Bytes()
}

// described is the story for those who do not see it.
func described(scenes []scene) string {
	var parts []string
	for _, s := range scenes {
		parts = append(parts, s.title)
	}
	return "A terminal shows three scenes: " + strings.Join(parts, "; ") + ". " + caption
}

// rules are the styles that all rows share.
func (p *picture) rules() string {
	return fmt.Sprintf(`text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;white-space:pre;fill:%s}
.ui{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:13px}
.f{fill:%s}.r{fill:%s}.g{fill:%s}.y{fill:%s}.b{fill:%s}.s{font-weight:600}
.l,.c,.u,.t{animation:%s step-end infinite}.l,.c,.u{opacity:0}.l.first,.u.first{opacity:1}.t{fill:%[2]s}.t.first{fill:%[1]s}
.k{animation:%[7]s infinite;transform-box:fill-box;transform-origin:100%% 0;transform:scaleX(0)}.m{animation:%[7]s infinite}
@media (prefers-reduced-motion:reduce){.l,.c,.u,.t,.k,.m{animation:none!important}}
`, p.ink, p.faint, p.red, p.green, p.yellow, p.blue, seconds(p.total))
}

// frame draws the window and the caption.
func (p *picture) frame(height int) {
	fmt.Fprintf(&p.body, `<rect x=".5" y=".5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>`+"\n", width-1, height-1, p.paper, p.edge)
	fmt.Fprintf(&p.body, `<path d="M1 %d V8.5 a7.5 7.5 0 0 1 7.5 -7.5 H%[2]g a7.5 7.5 0 0 1 7.5 7.5 V%[1]d z" fill="%[3]s"/>`+"\n", barHeight, width-8.5, p.bar)
	fmt.Fprintf(&p.body, `<path d="M.5 %d.5 H%d" stroke="%s"/>`+"\n", barHeight, width-1, p.edge)
	fmt.Fprintf(&p.body, `<text class="ui f" x="%d" y="%d">%s</text>`+"\n", margin, height-16, caption)
}

// tab draws the title of a scene above the scenes.
func (p *picture) tab(scenes []scene, i int, from, until time.Duration) {
	x := margin + i*(width-2*margin)/len(scenes)
	first := ""
	if i == 0 {
		first = " first"
	}
	id := p.next()
	fmt.Fprintf(&p.body, `<text id="%s" class="ui t%s" x="%d" y="25">%d. %s</text>`+"\n", id, first, x, i+1, escape(scenes[i].title))
	fmt.Fprintf(&p.style, "#%s{animation-name:%[1]s}@keyframes %[1]s{0%%{fill:%[2]s}%[3]s{fill:%[4]s}%[5]s{fill:%[2]s}}\n",
		id, p.faint, p.at(from), p.ink, p.at(until))
	id = p.next()
	fmt.Fprintf(&p.body, `<rect id="%s" class="u%s" x="%d" y="%d" width="%d" height="2" fill="%s"/>`+"\n", id, first, x, barHeight-1, (width-2*margin)/len(scenes)-margin, p.blue)
	p.appear(id, from, until)
}

// row draws a row of the terminal.
func (p *picture) row(s shot, first bool) {
	id, class := p.next(), "l"
	if first {
		class = "l first"
	}
	y := barHeight + margin + s.row*rowHeight + 14
	fmt.Fprintf(&p.body, `<g id="%s" class="%s">`, id, class)
	p.appear(id, s.from, s.gone)
	x := float64(margin)
	if s.typed {
		fmt.Fprintf(&p.body, `<text class="f" x="%d" y="%d">$</text>`, margin, y)
		x += 2 * cellWidth
	}
	for _, part := range styled(s.line) {
		n := utf8.RuneCountInString(part.text)
		if strings.TrimSpace(part.text) != "" {
			fmt.Fprintf(&p.body, `<text%s x="%s" y="%d" textLength="%s">%s</text>`, part.class(), number(x), y, number(float64(n)*cellWidth), escape(part.text))
		}
		x += float64(n) * cellWidth
	}
	if s.typed {
		p.typed(s, y)
	}
	p.body.WriteString("</g>\n")
}

// typed draws what hides a command until it is typed, and the cursor.
func (p *picture) typed(s shot, y int) {
	n := utf8.RuneCountInString(s.text())
	x, long := margin+2*cellWidth, float64(n)*cellWidth
	id := p.next()
	fmt.Fprintf(&p.body, `<rect id="%s" class="k" x="%s" y="%d" width="%s" height="%d" fill="%s"/>`, id, number(x), y-15, number(long+1), rowHeight-1, p.paper)
	fmt.Fprintf(&p.style, "#%s{animation-name:%[1]s}@keyframes %[1]s{0%%,%s{transform:scaleX(1);animation-timing-function:steps(%d,end)}%s,100%%{transform:scaleX(0)}}\n",
		id, p.at(s.from), n, p.at(s.full))
	id = p.next()
	outer := p.next()
	fmt.Fprintf(&p.body, `<g id="%s" class="c"><rect id="%s" class="m" x="%s" y="%d" width="%s" height="17" fill="%s"/></g>`, outer, id, number(x), y-13, number(cellWidth), p.faint)
	p.appear(outer, s.from, s.full+afterType)
	fmt.Fprintf(&p.style, "#%s{animation-name:%[1]s}@keyframes %[1]s{0%%,%s{transform:none;animation-timing-function:steps(%d,end)}%s,100%%{transform:translateX(%spx)}}\n",
		id, p.at(s.from), n, p.at(s.full), number(long))
}

// appear shows an element for a while.
func (p *picture) appear(id string, from, until time.Duration) {
	fmt.Fprintf(&p.style, "#%s{animation-name:%[1]s}@keyframes %[1]s{0%%{opacity:0}%s{opacity:1}%s{opacity:0}}\n", id, p.at(from), p.at(until))
}

func (p *picture) next() string {
	p.count++
	return fmt.Sprintf("e%d", p.count)
}

// at returns a time as a part of the whole. A keyframe at 0 % or 100 % would replace the one that
// hides an element.
func (p *picture) at(t time.Duration) string {
	return fmt.Sprintf("%.3f%%", min(max(100*t.Seconds()/p.total.Seconds(), 0.001), 99.999))
}

// styled returns the parts of a row. A row of gauze's log, or of the client, has the color of who
// speaks.
func styled(l line) []span {
	text := l.text()
	for mark, style := range map[string]string{fault.LogMark: "34", "←": "32"} {
		if rest, found := strings.CutPrefix(text, mark); found && !l.typed {
			return []span{{mark, style}, {rest, ""}}
		}
	}
	return l.spans
}

// class returns the attribute for the style of a span.
func (s span) class() string {
	class := map[string]string{"1": "s", "2": "f", "31": "r", "32": "g", "33": "y", "34": "b", "36": "b"}[s.style]
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

func seconds(d time.Duration) string { return number(d.Seconds()) + "s" }

func number(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a Buffer does not fail
	return b.String()
}
