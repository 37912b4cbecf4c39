package repair

import "testing"

// Parts of a string, short forms of a choice, and series are sent only if nothing else can be meant.
func TestClosedWorldParts(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{
		"size":{"type":"object","properties":{"width":{"type":"integer"},"height":{"type":"integer"}},"additionalProperties":false},
		"weight":{"type":"object","properties":{"value":{"type":"number"},"unit":{"enum":["kg","lb"]}},"additionalProperties":false},
		"price":{"type":"object","properties":{"amount":{"type":"number"},"currency":{"type":"string"},"tax":{"type":"number"}},"additionalProperties":false},
		"guests":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}},
		"extras":{"type":"array","items":{"enum":["breakfast","spa","bed and bath","bed","bath"]}},"counts":{"type":"array","items":{"type":"integer"}},
		"grid":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
		"span":{"enum":["week","six_weeks","three_days"]},"forecast":{"enum":["week","six_weeks"]},"each":{"enum":["day","last_day","week"]},
		"kind":{"enum":["Bio-tech","Hi-fi","Folk"]},"column":{"type":"string"},"operator":{"enum":["eq","gt","delete"]},"value":{"type":"number"},"minute":{"type":"integer"}},"additionalProperties":false}`))
	for _, tt := range []struct {
		name, sent, proposed string
		tier                 Tier
	}{
		{"size", `{"size":"640x480"}`, `{"size":{"width":640,"height":480}}`, Shown},
		{"size with a different number", `{"size":"640x480"}`, `{"size":{"width":640,"height":481}}`, outside},
		{"size with one number twice", `{"size":"640x480"}`, `{"size":{"width":640,"height":640}}`, outside},
		{"number and unit", `{"weight":"5 kg"}`, `{"weight":{"value":5,"unit":"kg"}}`, Told},
		{"number and unit without a blank", `{"weight":"5kg"}`, `{"weight":{"value":5,"unit":"kg"}}`, Told},
		{"different unit", `{"weight":"5 kg"}`, `{"weight":{"value":5,"unit":"lb"}}`, outside},
		{"range with a unit", `{"weight":"5-6 kg"}`, `{"weight":{"value":5,"unit":"kg"}}`, outside},
		{"number for one of two keys", `{"price":"20 EUR"}`, `{"price":{"amount":20,"currency":"EUR"}}`, Shown},
		{"number for the other key", `{"price":"20 EUR"}`, `{"price":{"tax":20,"currency":"EUR"}}`, Shown},
		{"names with and", `{"guests":"Bo and Cy"}`, `{"guests":[{"name":"Bo"},{"name":"Cy"}]}`, Shown},
		{"names with a comma", `{"guests":"Bo, Cy"}`, `{"guests":[{"name":"Bo"},{"name":"Cy"}]}`, Told},
		{"names swapped", `{"guests":"Bo, Cy"}`, `{"guests":[{"name":"Cy"},{"name":"Bo"}]}`, outside},
		{"choices with and", `{"extras":"breakfast and spa"}`, `{"extras":["breakfast","spa"]}`, Told},
		{"choices swapped", `{"extras":"breakfast and spa"}`, `{"extras":["spa","breakfast"]}`, outside},
		{"choice lost", `{"extras":"breakfast and spa and bed"}`, `{"extras":["breakfast","spa"]}`, outside},
		{"not a choice", `{"extras":"breakfast and not spa"}`, `{"extras":["breakfast","spa"]}`, outside},
		{"one choice or two", `{"extras":"bed and bath"}`, `{"extras":["bed","bath"]}`, Shown},
		{"numbers with and", `{"counts":"1 and 5"}`, `{"counts":[1,5]}`, Shown},
		{"range", `{"counts":"1 to 5"}`, `{"counts":[1,5]}`, Shown},
		{"thousands", `{"counts":"1,234"}`, `{"counts":[1,234]}`, Shown},
		{"points", `{"grid":"(1,2);(3,4)"}`, `{"grid":[[1,2],[3,4]]}`, Shown},
		{"points swapped", `{"grid":"(1,2);(3,4)"}`, `{"grid":[[1,2],[4,3]]}`, outside},
		{"past period", `{"span":"the last 6 weeks"}`, `{"span":"six_weeks"}`, Told},
		{"one period", `{"span":"past week"}`, `{"span":"week"}`, Told},
		{"different period", `{"span":"past 6 weeks"}`, `{"span":"week"}`, Shown},
		{"different count", `{"span":"last 5 weeks"}`, `{"span":"six_weeks"}`, Shown},
		{"next period", `{"span":"next 6 weeks"}`, `{"span":"six_weeks"}`, Shown},
		{"past period for the future", `{"forecast":"last 6 weeks"}`, `{"forecast":"six_weeks"}`, Shown},
		{"period with two choices", `{"each":"past day"}`, `{"each":"day"}`, Shown},
		{"abbreviation", `{"kind":"High fidelity"}`, `{"kind":"Hi-fi"}`, Shown}, // four letters are too few
		{"abbreviation of each word", `{"kind":"Biology technology"}`, `{"kind":"Bio-tech"}`, Told},
		{"abbreviation of other words", `{"kind":"Biology laboratory"}`, `{"kind":"Bio-tech"}`, Shown},
		{"abbreviation of a different choice", `{"kind":"Biology technology"}`, `{"kind":"Hi-fi"}`, outside},
		{"key as a value", `{"where":{"age":30}}`, `{"column":"age","value":30}`, Shown},
		{"key that was not sent", `{"where":{"age":30}}`, `{"column":"size","value":30}`, outside},
		{"operator lost", `{"where":{"age":{"gt":30}}}`, `{"column":"age","operator":"eq","value":30}`, outside},
		{"key that destroys", `{"where":{"age":{"delete":30}}}`, `{"column":"age","operator":"delete","value":30}`, outside},
		{"spelled number", `{"minute":"thirty"}`, `{"minute":30}`, Told},
		{"spelled number of two words", `{"minute":"forty-five"}`, `{"minute":45}`, Told},
		{"different spelled number", `{"minute":"forty-five"}`, `{"minute":54}`, outside},
		{"part of a spelled number", `{"minute":"forty-five"}`, `{"minute":40}`, outside},
	} {
		p, err := s.Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		checkTier(t, tt.name, tt.tier, p, err)
	}
}

func TestClosedWorldSeries(t *testing.T) {
	s := Compile([]byte(`{"type":"object","properties":{"pointA":{"type":"array","items":{"type":"integer"}},"pointB":{"type":"array","items":{"type":"integer"}},"scale":{"type":"integer"}},
		"required":["pointA","pointB"],"additionalProperties":false}`))
	for _, tt := range []struct {
		name, sent, proposed string
		tier                 Tier
	}{
		{"other letters", `{"pointP":[1,2],"pointQ":[3,4]}`, `{"pointA":[1,2],"pointB":[3,4]}`, Told},
		{"order changed", `{"pointP":[1,2],"pointQ":[3,4]}`, `{"pointA":[3,4],"pointB":[1,2]}`, Shown},
		{"values mixed", `{"pointP":[1,2],"pointQ":[3,4]}`, `{"pointA":[1,4],"pointB":[3,2]}`, Shown},
		{"gap", `{"pointP":[1,2],"pointR":[3,4]}`, `{"pointA":[1,2],"pointB":[3,4]}`, Shown},
		{"one too many", `{"pointP":[1,2],"pointQ":[3,4],"pointR":[5,6]}`, `{"pointA":[1,2],"pointB":[3,4]}`, Shown},
		{"different stem", `{"cornerA":[1,2],"cornerB":[3,4]}`, `{"pointA":[1,2],"pointB":[3,4]}`, Told},
		{"part of the series sent", `{"pointA":[1,2],"pointC":[3,4]}`, `{"pointA":[1,2],"pointB":[3,4]}`, Shown},
	} {
		p, err := s.Propose([]byte(tt.sent), []byte(tt.proposed), ProposeOptions{})
		checkTier(t, tt.name, tt.tier, p, err)
	}
}
