package doctor

import (
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// quietVariables keep log output off stdout. They change only what is printed.
var quietVariables = [][2]string{
	{"NO_COLOR", "1"}, {"NPM_CONFIG_LOGLEVEL", "silent"}, {"npm_config_update_notifier", "false"},
	{"DOTENV_CONFIG_QUIET", "true"}, {"PYTHONUNBUFFERED", "1"}, {"PYTHONIOENCODING", "utf-8"}, {"PYTHONUTF8", "1"},
}

// quiet asks the server and its runner not to print log output.
func quiet(p *plan) []Fix {
	return p.setting("quiet", "turns off banners and log output from the server and its runner", quietVariables)
}

// inUTF8 makes Python write UTF-8 regardless of the console's code page.
func inUTF8(p *plan) []Fix {
	return p.setting("utf-8", "switches Python's output to UTF-8", quietVariables[5:])
}

// setting sets variables that are not set yet.
func (p *plan) setting(name, about string, variables [][2]string) []Fix {
	var lacking [][2]string
	var list []string
	for _, v := range variables {
		if _, has := lookup(p.env, v[0], p.OS == "windows"); !has {
			lacking, list = append(lacking, v), append(list, v[0]+"="+v[1])
		}
	}
	if len(lacking) == 0 || p.spec.URL != "" {
		return nil
	}
	text := strings.Join(list, " ")
	return []Fix{{Name: name, Origins: starts(trust.Entry), About: about + ": " + text, Next: "Set these variables under \"env\" in the server's entry: `" + text + "`",
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, v := range lacking {
				s.Env = set(s.Env, v[0], v[1], p.OS == "windows")
			}
			return s
		}}}
}
