package fleet

import (
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// Catalogue returns an entry for everything that can go wrong: the faults of requests, the causes of
// server failures, and the problems of configuration files, each in reading order. Their texts are in
// packages fault, doctor and clientconfig. A configuration problem that is also a cause is listed as
// the cause.
var Catalogue = sync.OnceValue(func() []fault.Entry {
	all := slices.Concat(fault.All(), doctor.Entries(), clientconfig.Entries())
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e fault.Entry) bool {
		code := spelling(string(e.Code))
		twice := seen[code] && e.Kind == fault.KindConfig
		seen[code] = true
		return twice
	})
})

// Explain returns the entry of a code. Hyphens and underscores are equivalent.
func Explain(code string) (fault.Entry, bool) {
	all := Catalogue()
	i := slices.IndexFunc(all, func(e fault.Entry) bool { return spelling(string(e.Code)) == spelling(code) })
	if i < 0 {
		return fault.Entry{}, false
	}
	return all[i], true
}

// NearestCodes returns up to three codes that a misspelled one may stand for, the nearest first.
func NearestCodes(code string) []string {
	var codes []string
	for _, e := range Catalogue() {
		codes = append(codes, string(e.Code))
	}
	return plaintext.Nearest(code, codes)
}

func spelling(code string) string { return strings.ReplaceAll(strings.ToLower(code), "_", "-") }
