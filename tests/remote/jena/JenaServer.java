import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import org.apache.jena.query.ARQ;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryExecution;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.query.QueryParseException;
import org.apache.jena.query.ResultSetFormatter;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFDataMgr;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.apache.jena.query.DatasetFactory;
import org.apache.jena.query.QueryExecutionFactory;
import org.apache.jena.system.Txn;
import org.apache.jena.update.UpdateAction;
import org.apache.jena.update.UpdateFactory;
import org.apache.jena.update.UpdateRequest;

/** Apache Jena ARQ behind the SPARQL protocol: queries and updates by direct POST, one dataset in memory. */
public final class JenaServer {
    private static final DatasetGraph DATA = DatasetGraphFactory.createTxnMem();

    private record Answer(String type, byte[] body) {}

    private interface Operation {
        Answer run(String text);
    }

    public static void main(String[] arguments) throws IOException {
        ARQ.init();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        server.createContext("/query", exchange -> answer(exchange, JenaServer::query));
        server.createContext("/update", exchange -> answer(exchange, JenaServer::update));
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }

    private static Answer query(String text) {
        Query query = QueryFactory.create(text);
        return Txn.calculateRead(DATA, () -> {
            try (QueryExecution run = QueryExecutionFactory.create(query, DatasetFactory.wrap(DATA))) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                if (query.isAskType()) {
                    ResultSetFormatter.outputAsJSON(out, run.execAsk());
                } else if (query.isSelectType()) {
                    ResultSetFormatter.outputAsJSON(out, run.execSelect());
                } else {
                    RDFDataMgr.write(out, query.isConstructType() ? run.execConstruct() : run.execDescribe(), Lang.NTRIPLES);
                    return new Answer("application/n-triples", out.toByteArray());
                }
                return new Answer("application/sparql-results+json", out.toByteArray());
            }
        });
    }

    private static Answer update(String text) {
        UpdateRequest request = UpdateFactory.create(text);
        Txn.executeWrite(DATA, () -> UpdateAction.execute(request, DATA));
        return new Answer("text/plain", new byte[0]);
    }

    private static void answer(HttpExchange exchange, Operation operation) throws IOException {
        String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        String type = String.valueOf(exchange.getRequestHeaders().getFirst("Content-Type"));
        if (type.startsWith("application/x-www-form-urlencoded")) {
            text = URLDecoder.decode(text.substring("query=".length()), StandardCharsets.UTF_8);
        }
        int status = 200;
        Answer answer;
        try {
            answer = operation.run(text);
        } catch (QueryParseException error) {
            status = 400;
            answer = new Answer("text/plain", String.valueOf(error.getMessage()).getBytes(StandardCharsets.UTF_8));
        } catch (RuntimeException | StackOverflowError error) {
            status = 500;
            answer = new Answer("text/plain", String.valueOf(error).getBytes(StandardCharsets.UTF_8));
        }
        exchange.getResponseHeaders().set("Content-Type", answer.type());
        exchange.sendResponseHeaders(status, answer.body().length == 0 ? -1 : answer.body().length);
        if (answer.body().length > 0) {
            exchange.getResponseBody().write(answer.body());
        }
        exchange.close();
    }
}
