/** A moment or a length of media time, in microseconds. */
export type Micros = number;
/** A moment or a length of local time, in milliseconds. */
export type Millis = number;

/** One encoded picture, or one packet of sound. */
export interface EncodedFrame {
	/** Decoding can start here. */
	key: boolean;
	pts: Micros;
	/** 0 if it is not known. */
	duration: Micros;
	/** When it was captured, in microseconds since 1970, if the publisher says so. */
	capture: Micros | undefined;
	data: Uint8Array;
	/** A decoder configuration that holds from this frame on, if the object brought one. */
	config: Uint8Array | undefined;
}

export type Kind = "video" | "audio";
export type Packaging = "cmaf" | "loc" | "legacy";

/** A track as a catalog lists it. */
export interface Rendition {
	/** The MOQT track name. */
	name: string;
	kind: Kind;
	packaging: Packaging;
	/** For the WebCodecs API. */
	codec: string;
	/** The decoder configuration, where the codec needs one. */
	description: Uint8Array | undefined;
	/** The header of the track, with packaging cmaf. */
	init: Uint8Array | undefined;
	/** Objects come in datagrams. */
	datagram: boolean;
	/** Renditions of the same group show the same; undefined: there is no other. */
	altGroup: number | undefined;
	/** Bits per second; 0 if the catalog does not say. */
	bitrate: number;
	width: number;
	height: number;
	framerate: number;
	sampleRate: number;
	channels: number;
	label: string | undefined;
	language: string | undefined;
}

/** What comes from the network and cannot be used. */
export class MediaError extends Error {
	override name = "MediaError";
}
