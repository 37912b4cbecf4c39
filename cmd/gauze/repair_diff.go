package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// show formats the answer for a terminal. sent is the arguments as they were written.
func (a repairAnswer) show(called, sent string, p terminal.Paint) string {
	var b strings.Builder
	if a.Tool != "" && a.Tool != called {
		fmt.Fprintf(&b, "tool %s resolved to %s, the only match\n\n", plaintext.Clean(called), plaintext.Clean(a.Tool))
	}
	switch a.Outcome {
	case repair.Valid.String():
		b.WriteString(p.Green("valid") + ": the arguments are sent unchanged\n")
	case repair.Repaired.String():
		b.WriteString(p.Green("repaired") + ": the arguments match the schema after " + plaintext.Count(len(a.Changes), "change") + "\n\n")
		b.WriteString(showDiff(sent, a.Args, p) + "\n")
		for _, change := range a.Changes {
			b.WriteString(showChange(change) + "\n")
		}
	case repair.Unverified.String():
		b.WriteString("unverified: " + plaintext.Clean(a.Message) + "\nThe arguments are sent unchanged.\n")
	default:
		for line := range strings.Lines(a.Message) {
			b.WriteString(cleanLine(line) + "\n")
		}
	}
	for _, note := range a.Notes {
		b.WriteString("note: " + plaintext.Clean(note) + "\n")
	}
	return b.String()
}

// showChange describes one change.
func showChange(c repair.Change) string {
	if c.Tier == repair.Told {
		return plaintext.Clean(c.String()) + "; reported to the model"
	}
	return plaintext.Clean(c.String())
}

// showDiff returns a diff of two texts with three lines of context.
func showDiff(before string, after []byte, p terminal.Paint) string {
	const around = 3
	lines := diff(prettyLines(before), prettyLines(string(after)))
	near := make([]bool, len(lines))
	for i, line := range lines {
		for j := max(0, i-around); line.mark != ' ' && j <= min(i+around, len(lines)-1); j++ {
			near[j] = true
		}
	}
	var b strings.Builder
	for i, line := range lines {
		switch text := fmt.Sprintf("%c %s", line.mark, cleanLine(line.text)); {
		case !near[i] && (i == 0 || near[i-1]):
			b.WriteString("  …\n")
		case !near[i]:
		case line.mark == '-':
			b.WriteString(p.Red(text) + "\n")
		case line.mark == '+':
			b.WriteString(p.Green(text) + "\n")
		default:
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// prettyLines splits a text into lines, after indenting it if it is JSON.
func prettyLines(text string) []string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = pretty.String()
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

// cleanLine makes a line safe for a terminal, and keeps its indent.
func cleanLine(line string) string {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	return line[:indent] + plaintext.Clean(line)
}

// diffLine is a line of a diff: kept ( ), removed (-) or added (+).
type diffLine struct {
	mark rune
	text string
}

// maxDiff limits the table of a diff. Larger texts are shown one after the other.
const maxDiff = 1 << 22

// diff compares two texts by their longest common subsequence of lines.
func diff(before, after []string) (lines []diffLine) {
	n, m := len(before), len(after)
	if n*m > maxDiff {
		return append(marked('-', before), marked('+', after)...)
	}
	common := make([][]int, n+1) // length of the longest one after line i and line j
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if sameLine(before[i], after[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n || j < m; {
		switch {
		case i < n && j < m && sameLine(before[i], after[j]):
			lines = append(lines, diffLine{' ', after[j]})
			i, j = i+1, j+1
		case j == m || i < n && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{'-', before[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', after[j]})
			j++
		}
	}
	return lines
}

func marked(mark rune, texts []string) (lines []diffLine) {
	for _, text := range texts {
		lines = append(lines, diffLine{mark, text})
	}
	return lines
}

// sameLine compares lines without the comma that depends on whether another line follows.
func sameLine(a, b string) bool { return strings.TrimSuffix(a, ",") == strings.TrimSuffix(b, ",") }
