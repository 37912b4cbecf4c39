package process

import (
	"fmt"
	"strings"
	"testing"
)

func TestSurveyKnowsADownloadFromWhatFollowsIt(t *testing.T) {
	t.Parallel()
	https := map[int]bool{443: true}
	npx := surveyed{pid: 1, args: []string{"npm exec @scope/server --key=secret"}, talksTo: []int{443}}
	for _, story := range []struct {
		says        string
		all         []surveyed
		downloading bool
	}{
		{"a download", []surveyed{npx}, true},
		{"a script of it that runs", []surveyed{npx, {pid: 2, parent: 1, args: []string{"sh", "-c", "node-gyp"}}}, true},
		{"it has started the server", []surveyed{npx, {pid: 2, parent: 1, args: []string{"sh", "-c", "server"}}, {pid: 3, parent: 2, args: []string{"node", "/x/server.js"}}}, false},
		{"by its script", []surveyed{{pid: 1, args: []string{"/usr/bin/node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "x"}, talksTo: []int{443}}}, true},
		{"as a module", []surveyed{{pid: 1, args: []string{"python3.12", "-m", "pip", "install"}, talksTo: []int{443}}}, true},
		{"a server that talks to its service", []surveyed{{pid: 1, args: []string{"node", "server.js"}, talksTo: []int{443}}}, false},
		{"to another port", []surveyed{{pid: 1, args: []string{"uvx", "x"}, talksTo: []int{5432}}}, false},
	} {
		s := surveyOf(1, story.all, https)
		if (s.Downloading != "") != story.downloading {
			t.Errorf("%s: %+v", story.says, s)
		}
		if strings.Contains(fmt.Sprint(s), "secret") {
			t.Errorf("%s: an argument is shown: %+v", story.says, s)
		}
	}
}
