import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.jena.query.QueryException;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.update.UpdateFactory;

/** Parses the queries (.rq) and updates (.ru) in a folder; prints a line for each that Jena refuses. */
public final class ParseAll {
    public static void main(String[] arguments) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.list(Path.of(arguments[0]))) {
            files = found.sorted().collect(Collectors.toList());
        }
        for (Path file : files) {
            String text = Files.readString(file);
            try {
                if (file.toString().endsWith(".ru")) {
                    UpdateFactory.create(text);
                } else {
                    QueryFactory.create(text);
                }
            } catch (QueryException refused) {
                System.out.println(file.getFileName() + ": " + refused.getMessage().replace('\n', ' '));
            }
        }
    }
}
