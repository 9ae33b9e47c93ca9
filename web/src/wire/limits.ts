// Limits of the draft; a peer that goes above one is closed for it, before anything is allocated.

/** Largest body of a control message. [MOQT-18] Section 10, Control Messages */
export const MAX_MESSAGE = 65535;
/** [MOQT-18] Section 2.4.1, Track Naming */
export const MAX_NAMESPACE_FIELDS = 32;
/** Largest sum of the lengths of a namespace's fields and the track name. [MOQT-18] Section 2.4.1, Track Naming */
export const MAX_NAME = 4096;
/** Largest value of a key-value pair. [MOQT-18] Section 1.4.3, Key-Value-Pair Structure */
export const MAX_PROPERTY = 65535;
/** [MOQT-18] Section 1.4.4, Reason Phrase Structure */
export const MAX_REASON = 1024;
/** Largest New Session URI; also applied to the URI of a redirect. [MOQT-18] Section 10.4, GOAWAY */
export const MAX_URI = 8192;

/** Largest properties of one object, where the draft has no limit. */
export const MAX_OBJECT_PROPERTIES = 1 << 17;
/** Longest header a stream can start with: type, alias, group, subgroup, priority. */
export const MAX_STREAM_HEADER = 4 * 9 + 1;
