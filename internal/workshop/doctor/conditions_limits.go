package doctor

import (
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// processLine matches a line of ps.
var processLine = regex.New(`(?m)^\S+\s+\d+\s+[\d.]+\s+[\d.]+\s+.*(?:node|python|npx|uv|mcp)|` +
	`^\s*\d+\s+\?*\S*\s+\d+:\d\d\S*\s+.*(?:node|python|npx|uv|mcp)`)

// manyProcesses reports whether the output of ps shows the same program many times.
func manyProcesses(m *match) bool {
	lines := processLine.FindAllString(m.x.text, 8)
	if len(lines) < 4 {
		return false
	}
	m.said = lines[0]
	return true
}

var (
	announced = regex.New(`(?i)with (?:a )?timeout (?:of|:)|timeout=|timeout: \d`)

	bareTimeout = regex.New(`(?i)^(?:(?:MCP )?error(?: -32001)?: )?(?:request timed out|TimeoutError|request timeout|(?:operation|call|` +
		`connection) timed out|timeout connecting to [^\n]*)\.?(?:: [^\n]{0,60})?$|^Timeout connecting to [^\n]+$|^[\w ` +
		`:'"()-]{0,60}(?:request|connection|server|initiali[sz]ation|operation|startup) (?:timeout|timed out)(?: after [\w. ]+)?[.!]?$`)
)

// Patterns for the conditions of clues.
var ()

// sameImages reports whether docker ps shows three containers of one image.
func sameImages(m *match) bool {
	count := map[string]int{}
	for line := range strings.SplitSeq(m.x.text, "\n") {
		if words := strings.Fields(line); len(words) > 3 && containerID.MatchString(words[0]) {
			if count[words[1]]++; count[words[1]] >= 3 {
				return true
			}
		}
	}
	return false
}

var containerID = regex.New(`^[0-9a-f]{12}$`)

func stillDownloading(m *match) bool {
	if !m.x.Limit.Passed || !m.x.Limit.Downloading {
		return false
	}
	m.said = "the server was still being downloaded when the timeout expired"
	return true
}

func silentDownload(m *match) bool {
	if !m.x.Limit.Passed || !m.x.Limit.Alive || !m.x.cmd.downloads() {
		return false
	}
	m.said = "the server was still running when the timeout expired, and had written nothing"
	return true
}

func onlyATimeout(m *match) bool { // a bare report of a timeout
	text := strings.TrimSpace(m.x.text)
	m.said = text
	return bareTimeout.MatchString(text)
}
