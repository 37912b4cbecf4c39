package fleet

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// plugin is an installed plugin of a client.
type plugin struct {
	name string
	dir  string
}

// maxPluginBytes limits the list of plugins.
const maxPluginBytes = 4 << 20

// pluginsAt returns the plugins that a file of a client lists, in order.
func pluginsAt(path string) (all []plugin) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // opening a FIFO could block
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var listed struct {
		Plugins map[string][]struct{ InstallPath string }
	}
	if json.NewDecoder(io.LimitReader(file, maxPluginBytes)).Decode(&listed) != nil {
		return nil // an older form, or none
	}
	for name, versions := range listed.Plugins {
		name, _, _ = strings.Cut(name, "@") // the marketplace
		for _, v := range versions {
			all = append(all, plugin{name, v.InstallPath})
		}
	}
	sorting.Stable(all, func(a, b plugin) int { return strings.Compare(a.name+"\x00"+a.dir, b.name+"\x00"+b.dir) })
	return slices.Compact(all)
}

// pluginLimits returns what clients cannot use of the tools that plugins bring, whose names are longer. No server of a plugin
// is started: their tools are known if another entry runs the same server, or if gauze remembers them.
func (v *View) pluginLimits(all []*Checked) (found []Limit) {
	var clients []*clientconfig.Client
	for _, config := range v.Configs {
		if !slices.Contains(clients, config.Client) {
			clients = append(clients, config.Client)
		}
	}
	for _, c := range clients {
		path, ok := v.fleet.Home.PluginsOf(c)
		if !ok {
			continue
		}
		for _, p := range pluginsAt(path) {
			view, err := v.fleet.LookAt(filepath.Join(p.dir, ".mcp.json"))
			if err != nil {
				continue // it brings no servers
			}
			for _, s := range view.Servers {
				named := strings.ReplaceAll(c.Tools.PluginNamed, "PLUGIN", p.name)
				for _, l := range limitsOf(c, s.Name, named, v.toolsLike(s, all)) {
					l.Server = "plugin:" + p.name + ":" + s.Name
					l.Next = "add the server as an entry of its own with a short name, and disable the plugin's"
					found = append(found, l)
				}
			}
		}
	}
	return found
}

// toolsLike returns the tools of a server that is like one of these, or that gauze remembers.
func (v *View) toolsLike(s *Server, all []*Checked) []probe.Tool {
	real := s.Real()
	for _, c := range all {
		if other := c.Real(); c.Tried && other.URL == real.URL && other.Command == real.Command && slices.Equal(other.Args, real.Args) {
			return c.Attempt.Found.Tools
		}
	}
	if v.fleet.Listed == nil {
		return nil
	}
	return v.fleet.Listed(real)
}
