package fleet

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/gauze-mcp/gauze/fault"
)

// Every code that can be printed is expected by some test: by its name, or by its constant.
func TestEveryCodeIsProducedByATest(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "fault", "code.go"))
	if err != nil {
		t.Fatal(err)
	}
	constant := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)\s+Code = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		constant[m[2]] = m[1]
	}
	expected := expectations(t)
	for _, e := range Catalogue() {
		code := string(e.Code)
		name := constant[code]
		if e.Kind == fault.KindFault && name == "" {
			t.Errorf("%s has no constant", code)
		}
		if !expected[code] && (name == "" || !expected[name]) {
			t.Errorf("no test produces %s", code)
		}
	}
}

// expectations returns the words in the tests of the module and their data, without those of the
// catalogue itself, which name every code.
func expectations(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	apart := func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(path)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "dist" || slashed == "../../../fault") {
			return fs.SkipDir
		}
		isData := strings.Contains(slashed, "/testdata/") || strings.HasSuffix(slashed, ".examples")
		if d.Name() == "catalogue_test.go" || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !isData {
			return nil
		}
		data, err := os.ReadFile(path)
		for word := range strings.FieldsFuncSeq(string(data), apart) {
			all[word] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
