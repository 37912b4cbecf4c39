// Package catalogue lists everything that can go wrong: the faults of requests, the causes of
// server failures, and the problems of configuration files. Their texts are in packages fault,
// doctor and clientconfig.
package catalogue

import (
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/plaintext"
)

// All returns every entry: faults, then causes, then configuration problems, each in reading order.
// A configuration problem that is also a cause is listed as the cause.
var All = sync.OnceValue(func() []fault.Entry {
	all := slices.Concat(fault.All(), doctor.Entries(), clientconfig.Entries())
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e fault.Entry) bool {
		code := plain(string(e.Code))
		twice := seen[code] && e.Kind == fault.KindConfig
		seen[code] = true
		return twice
	})
})

// Lookup returns the entry of a code. Hyphens and underscores are equivalent.
func Lookup(code string) (fault.Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e fault.Entry) bool { return plain(string(e.Code)) == plain(code) })
	if i < 0 {
		return fault.Entry{}, false
	}
	return all[i], true
}

// Nearest returns up to three codes that a misspelled one may stand for, the nearest first.
func Nearest(code string) []string {
	var codes []string
	for _, e := range All() {
		codes = append(codes, string(e.Code))
	}
	return plaintext.Nearest(code, codes)
}

func plain(code string) string { return strings.ReplaceAll(strings.ToLower(code), "_", "-") }
