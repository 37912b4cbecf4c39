package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

const (
	maxCostName  = 24     // characters of a server's name
	maxCostTools = 24     // characters of its largest tools
	largeTokens  = 10_000 // from here on, something is advised: a twentieth of what many models have
	largeTools   = 40     // the same, in tools
)

// costText formats costs for a terminal.
type costText struct {
	fleet *fleet.Fleet
	paint terminal.Paint
}

func (t costText) text(c costs) string {
	var b strings.Builder
	large := false
	for _, one := range c.Clients {
		fmt.Fprintf(&b, "%s%s %s\n", blankLine(b.String()), t.paint.Bold(one.name), t.paint.Faint(one.Client))
		b.WriteString(t.servers(one.Servers, one.Sum))
		large = large || isLarge(one.Sum)
	}
	if c.Up != nil {
		fmt.Fprintf(&b, "%s%s %s\n", blankLine(b.String()), t.paint.Bold("gauze up"), t.paint.Faint(t.fleet.Tilde(c.Up.File).String()))
		b.WriteString(t.servers(c.Up.Servers, c.Up.Views[0].Direct) + "\n" + t.views(c.Up.Views))
		large = large || isLarge(c.Up.Views[0].Direct)
	}
	if b.Len() == 0 {
		return "No MCP servers found. To see where gauze looked:\n\n    gauze list\n"
	}
	b.WriteString("\n" + terminal.Fold("Tokens are estimated from names, descriptions and input schemas.") + "\n")
	if large {
		b.WriteString(t.advice(c.Up))
	}
	return b.String()
}

func isLarge(c hub.Cost) bool { return c.Tokens >= largeTokens || c.Tools > largeTools }

// advice says how to list fewer tools.
func (t costText) advice(up *upCost) string {
	if up != nil {
		return "\n" + terminal.Fold("To list fewer tools, allow or deny some of them for a server or a profile, or set list: search "+
			"in a profile, in the file of gauze up. To check it:") + "\n\n    gauze up --check\n"
	}
	return "\n" + terminal.Fold("To list fewer tools, put your servers behind gauze up, whose file can allow or deny tools, "+
		"and replace long lists with a search:") + "\n\n    gauze wrap --up\n"
}

// servers returns the table of servers, with the sum.
func (t costText) servers(all []serverCost, sum hub.Cost) string {
	rows := [][]string{{"SERVER", "TOOLS", "BYTES", "TOKENS", "LARGEST TOOLS"}}
	not := ""
	for _, s := range all {
		if s.Not != "" {
			not += "  – " + terminal.FoldAfter(short(s.Name, maxCostName)+" is not counted: "+s.Not, "\n    ") + "\n"
			continue
		}
		var largest []string
		for _, tool := range s.Largest {
			largest = append(largest, short(tool.Name, maxCostTools)+" "+grouped3(tool.Tokens))
		}
		rows = append(rows, costRow(short(s.Name, maxCostName), s.Cost, fitting(largest)))
	}
	if len(rows) > 2 {
		rows = append(rows, costRow("sum", sum, ""))
	}
	if len(rows) == 1 {
		return not
	}
	return costTable(rows) + not
}

// fitting joins as many words as fit into a column.
func fitting(words []string) (text string) {
	for _, word := range words {
		if text != "" && len(text)+len(word) > maxCostTools {
			break
		}
		if text != "" {
			text += ", "
		}
		text += word
	}
	return text
}

// views returns the table of what clients of gauze up get.
func (t costText) views(all []hub.ViewCost) string {
	rows := [][]string{{"PROFILE", "TOOLS", "BYTES", "TOKENS", "LIST", "WITH list: search"}}
	for _, v := range all {
		name := v.Profile
		if name == "" {
			name = "(all)"
		}
		rows = append(rows, append(costRow(short(name, maxCostName), v.Direct, v.List), grouped3(v.Search.Tokens)))
	}
	return costTable(rows)
}

func costRow(name string, c hub.Cost, last string) []string {
	return []string{name, grouped3(c.Tools), grouped3(c.Bytes), grouped3(c.Tokens), last}
}

// costTable formats a table, whose columns of numbers are aligned to the right.
func costTable(rows [][]string) string {
	for column := 1; column <= 3; column++ {
		wide := 0
		for _, row := range rows {
			wide = max(wide, len(row[column]))
		}
		for _, row := range rows {
			row[column] = fmt.Sprintf("%*s", wide, row[column])
		}
	}
	table, _ := terminal.Table(rows, nil)
	text := ""
	for line := range strings.Lines(table) {
		text += "  " + strings.TrimRight(line, " \n") + "\n"
	}
	return text
}

// grouped3 returns a number with commas: 12,345.
func grouped3(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
