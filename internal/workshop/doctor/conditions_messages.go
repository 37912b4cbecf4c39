package doctor

import "strings"

func textOnStdout(m *match) bool {
	if strings.TrimSpace(m.x.Stdout) == "" {
		return false
	}
	m.said, _, _ = strings.Cut(strings.TrimSpace(legible(m.x.Stdout)), "\n")
	return true
}
