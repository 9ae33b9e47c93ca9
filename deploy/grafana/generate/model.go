package main

import "fmt"

// The part of Grafana's dashboard model that is used here, schema version 39 (Grafana 10.4 and later).

type dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Version       int        `json:"version"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: the cursor is shared
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Templating    templating `json:"templating"`
	Links         []link     `json:"links"`
	Panels        []panel    `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Query      any         `json:"query"`
	Definition string      `json:"definition,omitempty"`
	Datasource *datasource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh,omitempty"`
	Sort       int         `json:"sort,omitempty"`
	IncludeAll bool        `json:"includeAll"`
	Multi      bool        `json:"multi"`
	AllValue   string      `json:"allValue,omitempty"`
	Current    any         `json:"current,omitempty"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

type panel struct {
	ID          int            `json:"id"`
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Datasource  *datasource    `json:"datasource,omitempty"`
	GridPos     gridPos        `json:"gridPos"`
	Targets     []target       `json:"targets,omitempty"`
	FieldConfig *fieldConfig   `json:"fieldConfig,omitempty"`
	Options     map[string]any `json:"options,omitempty"`
	Repeat      string         `json:"repeat,omitempty"`
	Direction   string         `json:"repeatDirection,omitempty"`
	MaxPerRow   int            `json:"maxPerRow,omitempty"`
	Collapsed   *bool          `json:"collapsed,omitempty"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type target struct {
	RefID        string      `json:"refId"`
	Datasource   *datasource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Format       string      `json:"format,omitempty"`
	Instant      bool        `json:"instant,omitempty"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit   string         `json:"unit"`
	Min    *float64       `json:"min,omitempty"`
	Max    *float64       `json:"max,omitempty"`
	Custom map[string]any `json:"custom,omitempty"`
}

// prometheus is the data source that the viewer chooses.
var prometheus = &datasource{"prometheus", "${datasource}"}

// newDashboard returns a dashboard with the variables that all have, and more.
func newDashboard(uid, title, description string, more ...variable) dashboard {
	return dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{"moq"},
		SchemaVersion: 39, Version: 1, Editable: true, GraphTooltip: 1, Refresh: "10s", Time: timeRange{"now-30m", "now"},
		Links: []link{{"MoQ dashboards", "dashboards", []string{"moq"}, true, true, true}},
		Templating: templating{append([]variable{
			{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1},
			choose("job", "Job", "label_values(moq_build_info, job)"),
			choose("instance", "Instance", `label_values(moq_build_info{job=~"$job"}, instance)`),
		}, more...)},
	}
}

// choose is a variable of which the viewer picks some values, by default all.
func choose(name, label, query string) variable {
	return variable{
		Name: name, Label: label, Type: "query", Datasource: prometheus, Definition: query,
		Query:   map[string]string{"query": query, "refId": "var-" + name},
		Refresh: 2, Sort: 1, IncludeAll: true, Multi: true, AllValue: ".*",
		Current: map[string]any{"text": "All", "value": "$__all"},
	}
}

// A layout places panels from left to right and top to bottom on Grafana's 24 columns.
type layout struct {
	panels  []panel
	x, y, h int
}

// row begins a row with a heading.
func (l *layout) row(title string) {
	l.newLine()
	open := false
	l.place(panel{Type: "row", Title: title, Collapsed: &open}, 24, 1)
	l.newLine()
}

func (l *layout) newLine() {
	l.y += l.h
	l.x, l.h = 0, 0
}

func (l *layout) place(p panel, w, h int) {
	if l.x+w > 24 {
		l.newLine()
	}
	p.ID = len(l.panels) + 1
	p.GridPos = gridPos{h, w, l.x, l.y}
	l.x += w
	l.h = max(l.h, h)
	l.panels = append(l.panels, p)
}

// q is one query of a panel.
type q struct{ expr, legend string }

func targets(queries []q) (list []target) {
	for i, query := range queries {
		list = append(list, target{RefID: string(rune('A' + i)), Datasource: prometheus, Expr: query.expr, LegendFormat: query.legend})
	}
	return list
}

// lines is a graph over time.
func (l *layout) lines(w int, title, description, unit string, queries ...q) {
	l.graph(w, title, description, unit, map[string]any{"lineWidth": 1, "fillOpacity": 5, "showPoints": "never"}, queries)
}

// stacked is a graph of shares or parts of a whole.
func (l *layout) stacked(w int, title, description, unit string, queries ...q) {
	l.graph(w, title, description, unit, map[string]any{
		"lineWidth": 1, "fillOpacity": 35, "showPoints": "never", "stacking": map[string]string{"mode": "normal", "group": "A"},
	}, queries)
}

func (l *layout) graph(w int, title, description, unit string, custom map[string]any, queries []q) {
	zero := 0.0
	l.place(panel{
		Type: "timeseries", Title: title, Description: description, Datasource: prometheus, Targets: targets(queries),
		FieldConfig: &fieldConfig{Defaults: fieldDefaults{Unit: unit, Min: &zero, Custom: custom}, Overrides: []any{}},
		Options: map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		},
	}, w, 8)
}

// stat is a figure of now.
func (l *layout) stat(title, description, unit string, queries ...q) {
	l.place(panel{
		Type: "stat", Title: title, Description: description, Datasource: prometheus, Targets: targets(queries),
		FieldConfig: &fieldConfig{Defaults: fieldDefaults{Unit: unit}, Overrides: []any{}},
		Options: map[string]any{
			"colorMode": "none", "graphMode": "area", "reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}},
		},
	}, 4, 4)
}

// heatmap shows the buckets of a histogram over time, one panel for each value of a variable.
func (l *layout) heatmap(w int, title, description, repeat, expr string) {
	l.place(panel{
		Type: "heatmap", Title: title, Description: description, Datasource: prometheus,
		Targets:     []target{{RefID: "A", Datasource: prometheus, Expr: expr, LegendFormat: "{{le}}", Format: "heatmap"}},
		FieldConfig: &fieldConfig{Defaults: fieldDefaults{Unit: "short"}, Overrides: []any{}},
		Repeat:      repeat, Direction: "h", MaxPerRow: 24 / w,
		Options: map[string]any{
			"calculate": false, "cellGap": 0, "color": map[string]any{"mode": "scheme", "scheme": "Turbo", "scale": "exponential", "exponent": .5, "steps": 64},
			"yAxis": map[string]any{"unit": "s"}, "rowsFrame": map[string]any{"layout": "le"}, "tooltip": map[string]any{"mode": "single", "yHistogram": true},
		},
	}, w, 8)
}

// quantiles are the queries of the usual quantiles of a histogram. by lists further labels, each with a comma behind it.
func quantiles(histogram, selector, by, legend string) (queries []q) {
	for _, p := range []struct{ share, name string }{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
		queries = append(queries, q{quantile(p.share, histogram, selector, by), legend + p.name})
	}
	return queries
}

func quantile(share, histogram, selector, by string) string {
	return fmt.Sprintf("histogram_quantile(%s, sum by (%sle) (rate(%s_bucket{%s}[$__rate_interval])))", share, by, histogram, selector)
}
