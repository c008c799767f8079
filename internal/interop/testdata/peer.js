// The npm package smpp as a peer that is driven over its standard input: a line of JSON is an order, each line of its
// output an event. The forms of both are those of peer.pl.
'use strict';
const smpp = require('smpp');
const readline = require('readline');

const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

// Values are wanted as they are on the wire; the reading of a text is kept beside them.
const readMessage = smpp.filters.message.decode;
for (const name of Object.keys(smpp.filters)) {
	smpp.filters[name].decode = (value) => value;
}
smpp.filters.message.decode = function (value, skipUdh) {
	if (Buffer.isBuffer(value) && value.length > 0) {
		try {
			Object.defineProperty(this, 'reading', { value: readMessage.call(this, value, skipUdh), configurable: true });
		} catch (e) { /* a text that it cannot read */ }
	}
	return value;
};

const simple = (value) => (Buffer.isBuffer(value) ? { hex: value.toString('hex') } : { value });

function describe(pdu) {
	const out = { command: pdu.command, id: pdu.command_id, status: pdu.command_status, sequence: pdu.sequence_number, fields: {}, tlvs: [] };
	const params = (smpp.commands[pdu.command] || {}).params || {};
	for (const key of Object.keys(pdu)) {
		if (key === 'short_message') {
			out.fields.short_message_hex = pdu[key].toString('hex');
		} else if (key in params) {
			out.fields[key] = pdu[key];
		} else if (key in smpp.tlvs) {
			for (const value of smpp.tlvs[key].multiple ? pdu[key] : [pdu[key]]) {
				out.tlvs.push({ tag: smpp.tlvs[key].id, ...simple(value) });
			}
		} else if (/^[0-9]+$/.test(key)) {
			out.tlvs.push({ tag: Number(key), ...simple(pdu[key]) });
		}
	}
	if (pdu.reading) {
		const { message, udh } = pdu.reading;
		out.reading = { udh: (udh || []).map((e) => e.toString('hex')) };
		if (typeof message === 'string') {
			out.reading.text = message;
		}
	}
	return out;
}

// value makes what the package wants of a TLV's octets.
function value(tag, hex) {
	const octets = Buffer.from(hex, 'hex');
	const types = smpp.types.tlv;
	switch (smpp.tlvsById[tag].type) {
	case types.int8: case types.int16: case types.int32:
		return octets.length ? octets.readUIntBE(0, octets.length) : 0;
	case types.cstring:
		return octets.toString('latin1').replace(/\0$/, '');
	}
	return octets;
}

function build(order) {
	const options = { command_status: order.status || 0, sequence_number: order.sequence || 0, ...order.fields };
	if ('short_message_hex' in options) {
		options.short_message = Buffer.from(options.short_message_hex, 'hex');
		delete options.short_message_hex;
	}
	for (const { tag, hex } of order.tlvs || []) {
		const known = smpp.tlvsById[tag];
		if (known.multiple) {
			(options[known.tag] = options[known.tag] || []).push(value(tag, hex));
		} else {
			options[known.tag] = value(tag, hex);
		}
	}
	return new smpp.PDU(order.command, options);
}

let session;

function adopt(s) {
	session = s;
	s.on('pdu', (pdu) => say({ event: 'pdu', pdu: describe(pdu) }));
	s.on('close', () => say({ event: 'closed' }));
	s.on('error', (e) => say({ event: 'error', message: e.message }));
}

const orders = {
	connect({ port }) {
		adopt(smpp.connect({ host: '127.0.0.1', port }, () => say({ event: 'connected' })));
	},
	listen() {
		const server = smpp.createServer((s) => { adopt(s); say({ event: 'connected' }); });
		server.listen(0, '127.0.0.1', () => say({ event: 'listening', port: server.address().port }));
	},
	send({ pdu }) { session.send(build(pdu)); },
	close() { session.close(); },
	decode({ hex }) { say({ event: 'decoded', pdu: describe(new smpp.PDU(Buffer.from(hex, 'hex'))) }); },
	encode({ pdu }) { say({ event: 'encoded', hex: build(pdu).toBuffer().toString('hex') }); },
	tables() {
		const pick = (table, of) => Object.fromEntries(Object.entries(table).map(([k, v]) => [k, of(v)]));
		say({ event: 'tables', commands: pick(smpp.commands, (c) => c.id), statuses: smpp.errors, tlvs: pick(smpp.tlvs, (t) => t.id) });
	},
};

readline.createInterface({ input: process.stdin }).on('line', (line) => {
	const order = JSON.parse(line);
	try {
		orders[order.do](order);
	} catch (e) {
		say({ event: 'failed', message: String(e) });
	}
}).on('close', () => process.exit(0));
