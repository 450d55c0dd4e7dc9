package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// filler gives every field of a type a value of its own.
type filler struct {
	n    int
	open map[reflect.Type]int // types whose values are being filled: some contain themselves
}

// filled returns a value of a type with all exported fields set, recursively. Equal types have equal values.
func filled(typ reflect.Type) reflect.Value {
	f := filler{open: map[reflect.Type]int{}}
	value := reflect.New(typ).Elem()
	f.fill(value)
	return value
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	if special, ok := values[v.Type()]; ok {
		v.Set(reflect.ValueOf(special(f.n)).Convert(v.Type()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("v" + strconv.Itoa(f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(uint64(f.n % 256))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf("v" + strconv.Itoa(f.n)))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		f.fillStruct(v)
	default:
		panic(fmt.Sprintf("no value for a %s", v.Type()))
	}
}

func (f *filler) fillStruct(v reflect.Value) {
	if f.open[v.Type()] == 2 {
		return
	}
	f.open[v.Type()]++
	defer func() { f.open[v.Type()]-- }()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if v.Field(i).CanSet() && field.Tag.Get("json") != "-" {
			f.fill(v.Field(i))
		}
	}
}

// values are those of types that do not accept any value.
var values = map[reflect.Type]func(n int) any{
	reflect.TypeFor[time.Time](): func(n int) any {
		return time.Date(2026, 1, 2, 3, 4, 5, n*int(time.Microsecond), time.UTC)
	},
	reflect.TypeFor[json.RawMessage](): func(n int) any { return json.RawMessage(fmt.Sprintf(`{"key":%d}`, n)) },
}
