package wire

// Types of Track and Object Properties.
//
// [MOQT-18] Section 15.8, Properties
const (
	PropertyObjectDeliveryTimeout   = 0x02 // Track
	PropertyMaxCacheDuration        = 0x04 // Track
	PropertySubgroupDeliveryTimeout = 0x06 // Track
	PropertyImmutable               = 0x0b // Track, Object
	PropertyDefaultPriority         = 0x0e // Track
	PropertyDefaultGroupOrder       = 0x22 // Track
	PropertyDynamicGroups           = 0x30 // Track
	PropertyPriorGroupIDGap         = 0x3c // Object
	PropertyPriorObjectIDGap        = 0x3e // Object
)

// Properties from mandatoryFirst to mandatoryLast mean that who does not
// understand them must not touch the track.
//
// [MOQT-18] Section 2.5.1, Mandatory Track Properties
const (
	mandatoryFirst = 0x4000
	mandatoryLast  = 0x7fff
)

// isMandatoryTrackProperty reports whether typ is in the range of Mandatory Track
// Properties. This package understands none of them.
func isMandatoryTrackProperty(typ uint64) bool {
	return mandatoryFirst <= typ && typ <= mandatoryLast
}
