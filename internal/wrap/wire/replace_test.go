package wire

import "testing"

func TestReplaceKeepsEveryOtherByte(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"the token before the id", `{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken" : 7 ,"x":1.50}},"id":"a"}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken" : "h12" ,"x":1.50}},"id":"h12"}`},
		{"the id before the token", `{"id":1e2,"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":"\u0061"}}}`,
			`{"id":"h12","jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":"h12"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, _, err := Scan([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			meta, _ := Field(m.Params, "_meta")
			token, _ := Field(meta, "progressToken")
			ours := []byte(`"h12"`)
			if got := Replace(nil, m.Raw, Edit{m.ID, ours}, Edit{token, ours}); string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := Replace(nil, m.Raw); string(got) != test.in {
				t.Errorf("without edits: %s", got)
			}
		})
	}
}
