// sparql-http-client: queries, updates and graphs.
import { Readable } from 'node:stream'
import rdf from '@rdfjs/data-model'
import StreamClient from 'sparql-http-client'
import ParsingClient from 'sparql-http-client/ParsingClient.js'

const { url, token, queries } = JSON.parse(process.env.GIVEN)
const headers = { Authorization: `Bearer ${token}` }
const addresses = { updateUrl: `${url}/update`, storeUrl: `${url}/store`, headers }
const client = new ParsingClient({ endpointUrl: `${url}/sparql`, ...addresses })
const found = {}
for (const operation of ['postDirect', 'postUrlencoded', 'get']) {
  Object.assign(found, {
    select: (await client.query.select(queries.select, { operation })).map(row => row.o.value),
    ask: await client.query.ask(queries.ask, { operation }),
    construct: [...await client.query.construct(queries.construct, { operation })].length,
    terms: (await client.query.select(queries.terms, { operation })).map(row => row.o.value),
    graph: [...await client.query.construct(queries.graph, { operation })].length
  })
  found[operation] = [found.select.length, found.ask, found.construct, found.terms.length, found.graph]
}
await client.query.update("INSERT DATA { GRAPH <urn:http> { <urn:s> <urn:p> 'text'@en } }")
found.written = (await client.query.select('SELECT ?o { GRAPH <urn:http> { ?s ?p ?o } }')).map(row => row.o.language)

const { store } = new StreamClient({ endpointUrl: `${url}/sparql`, ...addresses })
const graph = rdf.namedNode('urn:http-graph')
const quad = text => rdf.quad(rdf.namedNode('urn:s'), rdf.namedNode('urn:p'), rdf.literal(text, 'en'))
const size = async () => (await Array.fromAsync?.(store.get(graph)) ?? await store.get(graph).toArray()).length
await store.put(Readable.from([quad('a'), quad('b')]), { graph })
found.put = await size()
await store.post(Readable.from([quad('c')]), { graph })
found.post = await size()
console.log(JSON.stringify(found))
