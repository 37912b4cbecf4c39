package repair

import (
	"slices"
	"testing"
)

func TestToolNames(t *testing.T) {
	tools := []string{"create_issue", "list_issues", "search", "getWeather", "delete-file"}
	for called, want := range map[string]string{
		"createIssue":              "create_issue",
		"CREATE-ISSUE":             "create_issue",
		"get_weather":              "getWeather",
		"github.create_issue":      "create_issue",
		"github__create_issue":     "create_issue",
		"mcp__github__createIssue": "create_issue",
		"functions.search":         "search",
		"delete_file":              "delete-file",
	} {
		if got, ok := ToolName(called, tools); !ok || got != want {
			t.Errorf("%s: %q %t, not %q", called, got, ok, want)
		}
	}
	for _, called := range []string{"create_isue", "create_issues", "serch", "research", "weather_get", "delete", "", "___", "update_issue", "create issue please", "x"} {
		if got, ok := ToolName(called, tools); ok {
			t.Errorf("%q is not %q", called, got)
		}
	}
}

func TestToolNamesThatCouldBeTwo(t *testing.T) {
	for _, c := range []struct {
		called string
		tools  []string
	}{
		{"getuser", []string{"get_user", "getUser"}},
		{"search", []string{"github_search", "gitlab_search"}},
		{"x_search", []string{"a_x_search", "b_x_search"}},
		{"delete_all_issues", []string{"issues", "all_issues"}},
	} {
		if got, ok := ToolName(c.called, c.tools); ok {
			t.Errorf("%s could be any of %s, and is said to be %s", c.called, c.tools, got)
		}
	}
	if got, ok := ToolName("get_user", []string{"getUser", "getUser", "admin_get_user"}); !ok || got != "getUser" {
		t.Errorf("an equal name beside a longer one, listed twice: %q %t", got, ok)
	}
}

func TestNumbersInToolNamesCount(t *testing.T) {
	if got, ok := ToolName("query_v11", []string{"query_v1_1", "query_v2"}); ok {
		t.Errorf("v11 is not %s", got)
	}
}

func TestNearestNames(t *testing.T) {
	tools := []string{"list_issues", "create_issue", "search", "create_pr"}
	if got := NearestNames("create_isue", tools, 2); !slices.Equal(got, []string{"create_issue", "create_pr"}) {
		t.Errorf("%q", got)
	}
	if got := NearestNames("x", tools, 10); len(got) != len(tools) {
		t.Errorf("%q", got)
	}
	if got := NearestNames("x", nil, 3); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if !slices.Equal(tools, []string{"list_issues", "create_issue", "search", "create_pr"}) {
		t.Errorf("the list was changed: %q", tools)
	}
}

// A name is similar if it is a misspelling, or shares a word that only some of the tools have, and
// says nothing opposite. Anything else would be an arbitrary name.
func TestSimilarNames(t *testing.T) {
	git := []string{"git_add", "git_branch", "git_checkout", "git_commit", "git_create_branch", "git_diff", "git_log", "git_reset", "git_show", "git_status"}
	for _, c := range []struct {
		called string
		tools  []string
		want   []string
	}{
		{"no_such_tool", git, nil},
		{"git_push", git, nil},
		{"git_comit", git, []string{"git_commit"}},
		{"git_delete_branch", git, nil},
		{"list_branch", git, []string{"git_branch", "git_create_branch"}},
		{"does_not_exist", []string{"watch_topic", "unwatch_topic", "list_topics"}, nil},
		{"follow_topic", []string{"watch_topic", "unwatch_topic", "list_users", "search", "send"}, []string{"watch_topic", "unwatch_topic"}},
		{"watch_topics", []string{"unwatch_topic", "list_users", "search"}, nil},
		{"add_user", []string{"remove_user", "search", "send"}, nil},
		{"search_web", []string{"search_users", "list_users", "send"}, nil},
		{"x", []string{"y", "z"}, nil},
		{"", []string{"y", "z"}, nil},
		{"serch", []string{"search", "send"}, []string{"search"}},
		{"github.serch", []string{"search", "send", "github_search"}, []string{"github_search"}},
	} {
		if got := SimilarNames(c.called, c.tools, maxNearChoices); !slices.Equal(got, c.want) {
			t.Errorf("%s of %q: %q, want %q", c.called, c.tools, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"größe", "grösse", 2}, {"abc", "abc", 0}, {"ab", "ba", 2}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != got {
			t.Errorf("%q to %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}
