import { MSF_TRACK } from "../media/msf.ts";

export { MSF_TRACK };

/** A track as the catalog is to list it; the fields are those of MSF. */
export interface Listing {
	name: string;
	role: "video" | "audio";
	codec: string;
	altGroup: number;
	bitrate: number;
	width?: number;
	height?: number;
	framerate?: number;
	samplerate?: number;
	channelConfig?: string;
	delivery?: "datagram";
	/** The decoder configuration. */
	config?: Uint8Array;
}

/** Writes an MSF catalog of tracks in packaging loc. Those in datagrams come last, for players that do not know them. */
export function buildMsf(tracks: Listing[], now: number): Uint8Array {
	const order = [...tracks.filter((t) => !t.delivery), ...tracks.filter((t) => t.delivery)];
	const catalog = {
		version: "draft-01",
		generatedAt: Math.round(now),
		tracks: order.map(({ config, ...t }) => ({
			...t,
			packaging: "loc",
			isLive: true,
			renderGroup: 1,
			...(config ? { initData: btoa(String.fromCharCode(...config)) } : {}),
		})),
	};
	return new TextEncoder().encode(JSON.stringify(catalog));
}
