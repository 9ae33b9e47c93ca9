package moqt

import (
	"reflect"
	"testing"
)

// Add must not forget a field.
func TestStatsAdd(t *testing.T) {
	var a, b Stats
	v := reflect.ValueOf(&b).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint64:
			f.SetUint(uint64(i + 1))
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("Add does not know the kind of %s", v.Type().Field(i).Name)
		}
	}
	a.Add(b)
	a.Add(b)
	sum := reflect.ValueOf(a)
	for i := range sum.NumField() {
		name := sum.Type().Field(i).Name
		switch f := sum.Field(i); f.Kind() {
		case reflect.Uint64:
			if f.Uint() != uint64(2*(i+1)) {
				t.Errorf("%s is %d, want %d", name, f.Uint(), 2*(i+1))
			}
		case reflect.Bool:
			if !f.Bool() {
				t.Errorf("%s is not set", name)
			}
		}
	}
}
